/// Limits of values, requests and answers. Read them by name from ``Limits``.
public struct ModelLimits: Sendable {
    @Bound(.refused, "Object ids and revisions, which stay exact in a JSON number")
    public var objectIDMax: Int64 = 1 << 53 - 1

    @Bound(.refused, "Bytes of one string or data value")
    public var valueBytesMax = 64 << 10

    @Bound(.refused, "Bytes of one large value, which is outside the rows. The setting limits.valueBytes lowers it")
    public var largeValueBytesMax = 16 << 20

    @Bound(.refused, "Bytes of all strings and data of one object, which must fit into a frame with a chunk of others")
    public var objectBytesMax = 512 << 10

    @Bound(.refused, "Bytes of the name of an undo entry or a client")
    public var nameBytesMax = 256

    @Bound(.refused, "Steps of a transaction; larger writes are imports")
    public var mutationsPerTransactionMax = 10_000

    @Bound(.refused, "Object ids that one RESERVE may ask for")
    public var reservedIDsPerRequestMax = 65_536

    @Bound(.cut, "Reserved ids of a session that no object has had yet; the newest are kept")
    public var reservedIDsPerSessionMax = 1 << 20

    @Bound(.cut, "Pieces of these ids; a session that uses them in ascending order has few")
    public var reservedPiecesPerSessionMax = 100

    @Bound(.refused, "Preconditions of one transaction")
    public var preconditionsPerTransactionMax = 10_000

    @Bound(.refused, "Objects that one step may set a to-many relationship to")
    public var relatedPerMutationMax = 100_000

    @Bound(.refused, "Sort keys of a request")
    public var sortKeysMax = 8

    @Bound(.refused, "Computed values of each row that a request may name: values of related objects, and counts")
    public var columnsMax = 64

    @Bound(.refused, "Comparisons and connectives of a predicate")
    public var predicateNodesMax = 256

    @Bound(.refused, "Levels of a predicate")
    public var predicateDepthMax = 32

    @Bound(.refused, "SUBQUERYs of a predicate within each other")
    public var subqueryDepthMax = 4

    @Bound(.refused, "Values of one IN")
    public var predicateValuesMax = 10_000

    @Bound(.refused, "Bytes of a text that a predicate compares with, and of all its MATCHES patterns together")
    public var patternBytesMax = 1 << 10

    @Bound(
        .refused,
        "Instructions of all compiled MATCHES patterns of a predicate; a Unicode class counts at least 128"
    )
    public var patternInstructionsMax = 4_000

    @Bound(.refused, "Instructions of the compiled regular expression of an attribute")
    public var validationInstructionsMax = 20_000

    @Bound(.refused, "Regular expressions of a model, with those of inherited attributes")
    public var patternsPerModelMax = 4_096

    @Bound(.refused, "Requests that a model names")
    public var requestsPerModelMax = 1_000

    @Bound(.inner, "Bytes of memory of one MATCHES pattern; it runs more slowly when it needs more")
    public var patternMemoryBytesMax = 256 << 10

    @Bound(.refused, "Bytes of the text of a predicate that a server reads")
    public var predicateTextBytesMax = 64 << 10

    @Bound(.refused, "Bytes of the name of a time zone")
    public var zoneNameBytesMax = 64

    @Bound(.refused, "Relationships that a path follows")
    public var pathStepsMax = 4

    @Bound(
        .refused,
        "Objects whose fold state in an outline differs from its expansion; also those of one SET_EXPANDED"
    )
    public var outlineExceptionsMax = 1 << 16

    @Bound(.refused, "Totals of a fetch request")
    public var totalsMax = 16

    @Bound(.refused, "Rows of the window of an outline")
    public var outlineWindowRowsMax = 1_000

    @Bound(
        .refused,
        "Attributes and relationships of an entity and all that inherit from it; uniqueness constraints; indexes"
    )
    public var propertiesPerEntityMax = 256

    @Bound(.refused, "Entities")
    public var entitiesPerModelMax = 1_000

    @Bound(.refused, "Bytes of a model: it is sent in one frame")
    public var modelBytesMax = 1 << 20

    @Bound(.cut, "Faults listed in one refusal; more are counted")
    public var faultsPerErrorMax = 100

    @Bound(.refused, "Levels of a hierarchy that one import may add")
    public var depthMax = 1 << 20

    @Bound(.cut, "Entries of one HISTORY")
    public var historyPageMax = 1_000

    @Bound(.cut, "Transactions that the server reads for one HISTORY of a session; then the page ends")
    public var historyHeadersMax = 16_384

    @Bound(.cut, "Values of one STATISTICS")
    public var statisticsMax = 1_000

    @Bound(.cut, "Connections of one CLIENTS")
    public var clientsPageMax = 1_000

    @Bound(.cut, "Parts, paths, tables or sub-trees of one EXPLANATION")
    public var explanationListMax = 1_000

    @Bound(.cut, "Bytes of one text of an EXPLANATION; the server cuts longer ones")
    public var explanationTextBytesMax = 64 << 10

    @Bound(.refused, "The greatest number of a token")
    public var tokenNumberMax: UInt64 = 1 << 53 - 1
    @Bound(.refused, "The latest expiry of a token, in microseconds since 1970: the end of the year 9999")
    public var tokenExpiryMax: Int64 = 253_402_300_799_999_999

    @Bound(.cut, "Problems that a check of the store lists; more are counted")
    public var checkProblemsMax = 100

    @Bound(.cut, "Conflicts listed in one answer; more are counted")
    public var undoConflictsMax = 100

    @Bound(.refused, "Bytes of the key that joins writes into one undo entry")
    public var coalesceKeyBytesMax = 64

    @Bound(.cut, "Objects listed by a preview")
    public var previewObjectsMax = 1_000

    init() {}
}
