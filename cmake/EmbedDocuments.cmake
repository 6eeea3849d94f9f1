# cmake -DOUTPUT=FILE -DDOCUMENTS=FILES -P: writes the documents into a C++ file (serve/documents.h).
# A document's name is the name of its file.

set(text "// Made by cmake/EmbedDocuments.cmake.\n\n#include \"serve/documents.h\"\n\n")
string(APPEND text "namespace everstep {\nnamespace {\n\n")
string(APPEND text "constexpr ServedDocument kDocuments[] = {\n")
foreach(document IN LISTS DOCUMENTS)
  cmake_path(GET document FILENAME name)
  file(READ ${document} content)
  string(APPEND text "    {\"${name}\", R\"EVERSTEP(${content})EVERSTEP\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\n")
string(APPEND text "std::span<const ServedDocument> ServedDocuments() { return kDocuments; }\n\n")
string(APPEND text "}  // namespace everstep\n")
file(WRITE ${OUTPUT} "${text}")
