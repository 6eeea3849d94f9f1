#!/usr/bin/env bash
# A program that embeds Everstep needs only the installed package.
set -euo pipefail

source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build_dir=${EVERSTEP_BUILD_DIR:-$source_dir/build/release}
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/prefix" >/dev/null
if [[ $(ls "$work/prefix/include") == everstep ]]; then
  echo "ok - only the public headers are installed"
else
  echo "not ok - only the public headers are installed"
fi

mkdir "$work/project"
cp "$source_dir"/examples/*.cc "$work/project/"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(embedder LANGUAGES CXX)
find_package(everstep REQUIRED)
file(GLOB examples *.cc)
foreach(example IN LISTS examples)
  cmake_path(GET example STEM name)
  add_executable(${name} ${example})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE everstep::everstep)
endforeach()
END
if cmake -G Ninja -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" &&
  cmake --build "$work/build" >>"$work/log" 2>&1; then
  echo "ok - the examples build against the installed package"
else
  cat "$work/log"
  echo "not ok - the examples build against the installed package"
fi
