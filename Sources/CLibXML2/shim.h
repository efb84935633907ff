#include <libxml/xmlversion.h>
/* Only declares members of a struct that is not used here, by headers that clash with those of Foundation's own ICU. */
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/SAX2.h>
#include <libxml/HTMLparser.h>
