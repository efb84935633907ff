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
    /// Whether the text between two tags has been counted. It may arrive in several parts.
    private var hasCountedText = false
    private var headNames = NameList()
    /// The names of attributes of `opml`, `head` and `body`, for which a row has no place.
    private var otherNames = NameList()
    private var hasOwnerEmail = false
    private var title = DocumentTitle()

    init(hasHTML: Bool?, fields: OutlineFields) {
        self.hasHTML = hasHTML
        self.fields = fields
    }

    var warnings: [String] {
        var losses = self.losses
        var names = NameList()
        if self.title.isLost { names.add("title") }
        names.add(self.headNames)
        losses.add("elements of the head left out (\(names))", count: names.count)
        losses.add("attributes of opml, head and body left out (\(self.otherNames))", count: self.otherNames.count)
        return losses.warnings
    }

    /// Takes the next part of the document and appends the row that it begins, if any.
    mutating func take(_ event: XMLEvent, into rows: inout [OutlineRow]) throws(FormatError) {
        if case .text = event {} else { self.hasCountedText = false }
        switch event {
        case .begin(let name, let attributes, let location):
            self.depth += 1
            guard self.skipped == nil else { return }
            guard self.depth > 1 || name == "opml" else {
                throw location.failure("not OPML: the outermost element is <\(name)>; <opml> is expected")
            }
            if self.begin(name) {
                rows.append(try self.row(attributes, at: location))
            } else if self.skipped == nil {
                for (attribute, _) in attributes where name != "opml" || attribute != "version" {
                    self.otherNames.add(attribute)
                }
            }
        case .end: self.end()
        case .text(let text): self.take(text)
        case .comment: self.losses.add("comments left out")
        case .instruction: self.losses.add("processing instructions left out")
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
            if name != "title" || !self.title.begin() { self.headNames.add(name) }
            if name == "ownerEmail" { self.hasOwnerEmail = true }
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
        self.title.take(row)
        self.outlineDepth += 1
        return row
    }

    private mutating func end() {
        if self.skipped == self.depth {
            self.skipped = nil
            self.title.end()
        } else if self.skipped == nil {
            if self.depth == 2 { self.isInBody = false }
            if self.depth > 2 { self.outlineDepth -= 1 }
        }
        self.depth -= 1
    }

    /// Text between the tags. White space is layout.
    private mutating func take(_ text: String) {
        self.title.take(text)
        guard self.skipped == nil, !self.hasCountedText else { return }
        if !text.utf8.allSatisfy({ $0 == 0x20 || (0x09...0x0d).contains($0) }) {
            self.hasCountedText = true
            self.losses.add("texts between the tags left out")
        }
    }

    private var isOfWorkflowy: Bool { self.hasOwnerEmail && !self.title.exists }
}

/// The title in the head of a document, and whether an import loses it.
private struct DocumentTitle: Sendable {
    private static let bytesMax = 1 << 10

    private(set) var exists = false
    private var isOpen = false
    private var text = ""
    private var firstTitle: String?

    /// Returns `false` for a second title.
    mutating func begin() -> Bool {
        defer { self.exists = true }
        self.isOpen = !self.exists
        return self.isOpen
    }

    mutating func end() { self.isOpen = false }

    mutating func take(_ text: String) {
        if self.isOpen, self.text.utf8.count <= Self.bytesMax { self.text += text }
    }

    /// Takes a row. Only the first one matters.
    mutating func take(_ row: OutlineRow) {
        if self.firstTitle == nil { self.firstTitle = row.title }
    }

    /// Not if the first item has the same title, or the document has none: exports of nest have such titles.
    var isLost: Bool {
        self.exists && self.text != self.firstTitle && self.text != OPMLWriter.untitled && !self.text.isEmpty
    }
}
