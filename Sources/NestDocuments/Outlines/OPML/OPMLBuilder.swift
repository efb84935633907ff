/// Turns the elements of an OPML document into rows, one by one.
///
/// Rows are the elements `opml > body > outline`; the builder skips and counts everything else. Workflowy writes its
/// texts as HTML; its files have a head with an `ownerEmail` and no `title`.
struct OPMLBuilder: Sendable {
    private var hasHTML: Bool?
    private let fields: OutlineFields
    private var losses = LossCounts()
    /// Open elements: of all kinds, and outlines.
    private var depth = 0
    private var outlineDepth = 0
    /// The depth of the outermost element that is being skipped.
    private var skipped: Int?
    private var isInBody = false
    private var headNames: Set<String> = []

    init(hasHTML: Bool?, fields: OutlineFields) {
        self.hasHTML = hasHTML
        self.fields = fields
    }

    var warnings: [String] { self.losses.warnings }

    /// Takes the next part of the document and appends the row that it begins, if any.
    mutating func take(_ event: XMLEvent, into rows: inout [OutlineRow]) throws(FormatError) {
        switch event {
        case .begin(let name, let attributes, let location):
            self.depth += 1
            guard self.skipped == nil else { return }
            guard self.depth > 1 || name == "opml" else {
                throw location.failure("not OPML: the outermost element is <\(name)>; <opml> is expected")
            }
            if self.begin(name) { rows.append(try self.row(attributes, at: location)) }
        case .end: self.end()
        case .text(let text): self.take(text)
        }
    }

    /// Whether the element that begins is an item.
    private mutating func begin(_ name: String) -> Bool {
        switch (self.depth, name) {
        case (1, "opml"), (2, "head"): break
        case (2, "body"):
            self.isInBody = true
            if self.hasHTML == nil { self.hasHTML = self.isOfWorkflowy }
        case (3, _) where !self.isInBody:
            self.headNames.insert(name)
            if name != "ownerEmail", name != "title" { self.losses.add("elements of the head left out") }
            self.skipped = self.depth
        case (_, "outline") where self.isInBody: return true
        default:
            self.losses.add("elements that are not outlines left out")
            self.skipped = self.depth
        }
        return false
    }

    private mutating func row(
        _ attributes: [(name: String, value: String)],
        at location: TextLocation
    ) throws(FormatError) -> OutlineRow {
        var row = OPMLAttributes.row(
            depth: self.outlineDepth,
            attributes,
            hasHTML: self.hasHTML ?? false,
            self.fields
        )
        try row.check(at: location)
        self.outlineDepth += 1
        return row
    }

    private mutating func end() {
        if self.skipped == self.depth {
            self.skipped = nil
        } else if self.skipped == nil {
            if self.depth == 2 { self.isInBody = false }
            if self.depth > 2 { self.outlineDepth -= 1 }
        }
        self.depth -= 1
    }

    /// Text between the tags. White space is layout.
    private mutating func take(_ text: String) {
        guard self.isInBody, self.skipped == nil else { return }
        if !text.utf8.allSatisfy({ $0 == 0x20 || (0x09...0x0d).contains($0) }) {
            self.losses.add("texts between the tags left out")
        }
    }

    private var isOfWorkflowy: Bool { self.headNames.contains("ownerEmail") && !self.headNames.contains("title") }
}
