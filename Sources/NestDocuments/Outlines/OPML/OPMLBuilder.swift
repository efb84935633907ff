/// Turns the elements of a document into rows as they come.
///
/// It is at home in `opml > body > outline`; everything else is passed over and counted. Workflowy writes its texts as
/// HTML, and is known by a head with an `ownerEmail` and no `title`.
struct OPMLBuilder {
    /// The outermost element has ended.
    private(set) var isComplete = false
    private var hasHTML: Bool?
    private let fields: OutlineFields
    private var rows: [OutlineRow] = []
    private var losses = LossTally()
    /// Elements that are open: of all kinds, and outlines.
    private var depth = 0
    private var outlineDepth = 0
    /// The depth of the outermost element that is being passed over.
    private var skipped: Int?
    private var isInBody = false
    private var headNames: Set<String> = []

    init(hasHTML: Bool?, fields: OutlineFields) {
        self.hasHTML = hasHTML
        self.fields = fields
    }

    var warnings: [String] { self.losses.warnings }

    mutating func takeRows() -> [OutlineRow] {
        defer { self.rows = [] }
        return self.rows
    }

    /// An element begins here. Its attributes are in the order of the file.
    mutating func begin(
        _ name: String,
        _ attributes: [(name: String, value: String)],
        line: Int,
        column: Int
    ) throws(FormatError) {
        self.depth += 1
        guard self.skipped == nil else { return }
        switch (self.depth, name) {
        case (1, "opml"): break
        case (1, _):
            throw FormatError(line: line, column: column, "not OPML: the outermost element is <\(name)>")
        case (2, "head"): break
        case (2, "body"):
            self.isInBody = true
            if self.hasHTML == nil { self.hasHTML = self.isOfWorkflowy }
        case (3, _) where !self.isInBody:
            self.headNames.insert(name)
            if name != "ownerEmail", name != "title" { self.losses.add("elements of the head left out") }
            self.skipped = self.depth
        case (_, "outline") where self.isInBody:
            var row = OPMLAttributes.row(
                depth: self.outlineDepth,
                attributes,
                hasHTML: self.hasHTML ?? false,
                self.fields
            )
            try row.check(line: line, column: column)
            self.outlineDepth += 1
            self.rows.append(row)
        default:
            self.losses.add("elements that are no outlines left out")
            self.skipped = self.depth
        }
    }

    mutating func end() {
        if self.skipped == self.depth {
            self.skipped = nil
        } else if self.skipped == nil {
            switch self.depth {
            case 1: self.isComplete = true
            case 2: self.isInBody = false
            default: self.outlineDepth -= 1
            }
        }
        self.depth -= 1
    }

    /// Text between the tags.
    mutating func text(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard self.isInBody, self.skipped == nil else { return }
        // Space is there for the reader's eye.
        if !bytes.allSatisfy({ $0 == 0x20 || (0x09...0x0d).contains($0) }) {
            self.losses.add("texts between the tags left out")
        }
    }

    private var isOfWorkflowy: Bool { self.headNames.contains("ownerEmail") && !self.headNames.contains("title") }
}
