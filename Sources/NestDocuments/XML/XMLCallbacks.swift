import CLibXML2

/// Turns libxml2's calls into events, until the first fault.
final class XMLCallbacks {
    private let rules: XMLRules
    private var events: [XMLEvent] = []
    private var open: [XMLFault.OpenElement] = []
    private(set) var fault: FormatError?
    /// Whether the outermost element has ended.
    private(set) var isComplete = false
    /// Where the document type declaration begins, if there is one.
    var doctype: TextLocation?
    /// The location after the last byte that has arrived.
    var endLocation = TextLocation()
    /// The context that makes the calls; it lives as long as the reader that owns both.
    var context: xmlParserCtxtPtr?

    init(_ rules: XMLRules) {
        self.rules = rules
    }

    func takeEvents() -> [XMLEvent] {
        defer { self.events = [] }
        return self.events
    }

    /// How far libxml2 has read.
    var location: TextLocation {
        TextLocation(
            line: max(Int(xmlSAX2GetLineNumber(self.context)), 1),
            column: max(Int(xmlSAX2GetColumnNumber(self.context)), 1)
        )
    }

    private func begin(_ name: String, _ attributes: [(name: String, value: String)]) {
        guard self.fault == nil else { return }
        guard self.open.count < self.rules.depthMax else {
            return self.note("elements nest more than \(self.rules.depthMax) deep")
        }
        let location = self.location
        self.open.append(XMLFault.OpenElement(name, line: location.line))
        self.events.append(.begin(name, attributes: attributes, at: location))
    }

    private func end() {
        guard self.fault == nil else { return }
        _ = self.open.popLast()
        self.isComplete = self.open.isEmpty
        self.events.append(.end)
    }

    private func add(_ event: XMLEvent) {
        if self.fault == nil { self.events.append(event) }
    }

    private func text(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard self.fault == nil else { return }
        self.events.append(.text(String(decoding: bytes, as: UTF8.self)))
    }

    /// Stops before libxml2 reads the content of the declaration.
    private func refuseDoctype(_ name: String) {
        let location = self.doctype ?? self.location
        if self.fault == nil {
            self.fault = location.failure(
                name.lowercased() == "html"
                    ? "an HTML page (<!DOCTYPE html>) is no \(self.rules.subject); specify the \(self.rules.subject)'s file"
                    : "a document type declaration (<!DOCTYPE …>) is not read; remove it"
            )
        }
        xmlStopParser(self.context)
    }

    private func note(_ message: String) {
        if self.fault == nil { self.fault = self.location.failure(message) }
    }

    private func note(_ error: xmlError) {
        guard self.fault == nil, !self.rules.allows(error) else { return }
        guard error.code == Int32(XML_ERR_DOCUMENT_END.rawValue), !self.isComplete else {
            let fault = XMLFault(error, in: self.open.last)
            self.fault = self.location.failure(fault.message)
            self.fault?.isRepairable = fault.isRepairable
            return
        }
        // libxml2's own location is the beginning of the markup that has no end.
        self.fault = self.missingEnd
    }

    /// The error for a document that ends before its outermost element.
    var missingEnd: FormatError { self.endLocation.failure(XMLFault.missingEnd(self.open.last)) }

    // MARK: Callbacks of libxml2

    static var handler: xmlSAXHandler {
        var handler = xmlSAXHandler()
        // The SAX2 interface, which reports errors to `serror`.
        handler.initialized = UInt32(XML_SAX2_MAGIC)
        handler.internalSubset = { user, name, _, _ in XMLCallbacks.of(user).refuseDoctype(XMLCallbacks.string(name)) }
        handler.startElementNs = { user, name, prefix, _, namespaceCount, namespaces, count, _, attributes in
            let callbacks = XMLCallbacks.of(user)
            var all = XMLCallbacks.attributes(attributes, count: Int(count))
            if namespaceCount > 0 {
                all = callbacks.inOrderOfFile(
                    XMLCallbacks.declarations(namespaces, count: Int(namespaceCount)) + all
                )
            }
            callbacks.begin(XMLCallbacks.name(prefix, name), all)
        }
        handler.endElementNs = { user, _, _, _ in XMLCallbacks.of(user).end() }
        let text: charactersSAXFunc = { user, text, count in
            XMLCallbacks.of(user).text(UnsafeBufferPointer(start: text, count: Int(count)))
        }
        handler.characters = text
        handler.ignorableWhitespace = text
        handler.cdataBlock = text
        handler.comment = { user, _ in XMLCallbacks.of(user).add(.comment) }
        handler.processingInstruction = { user, _, _ in XMLCallbacks.of(user).add(.instruction) }
        handler.serror = { user, error in
            guard let error = error?.pointee, error.level.rawValue >= XML_ERR_ERROR.rawValue else { return }
            XMLCallbacks.of(user).note(error)
        }
        return handler
    }

    /// Sorts attributes into the order of the start tag that libxml2 has just read: it passes the declarations of
    /// namespaces apart from the other attributes.
    private func inOrderOfFile(_ attributes: [(name: String, value: String)]) -> [(name: String, value: String)] {
        guard let input = self.context?.pointee.input?.pointee, let base = input.base, let end = input.cur else {
            return attributes
        }
        // libxml2 reads a start tag when its buffer has all of it. No value contains a `<`.
        var start = end
        while start > base, start.pointee != UInt8(ascii: "<") { start -= 1 }
        let names = XMLTag.attributeNames(UnsafeBufferPointer(start: start, count: end - start))
        let positions = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        return attributes.enumerated().sorted { a, b in
            (positions[a.element.name] ?? .max, a.offset) < (positions[b.element.name] ?? .max, b.offset)
        }.map(\.element)
    }

    private static func of(_ user: UnsafeMutableRawPointer?) -> XMLCallbacks {
        guard let user else { preconditionFailure("libxml2 returns the pointer that it was given") }
        return Unmanaged<XMLCallbacks>.fromOpaque(user).takeUnretainedValue()
    }

    private static func string(_ text: UnsafePointer<xmlChar>?) -> String {
        text.map { String(cString: $0) } ?? ""
    }

    /// Returns a name as the file has it.
    private static func name(_ prefix: UnsafePointer<xmlChar>?, _ name: UnsafePointer<xmlChar>?) -> String {
        prefix == nil ? Self.string(name) : "\(Self.string(prefix)):\(Self.string(name))"
    }

    /// `namespaces`: pairs of a prefix, if any, and its namespace.
    private static func declarations(
        _ namespaces: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        count: Int
    ) -> [(name: String, value: String)] {
        (0..<count).map { index in
            let prefix = namespaces?[2 * index]
            return (prefix == nil ? "xmlns" : "xmlns:\(Self.string(prefix))", Self.string(namespaces?[2 * index + 1]))
        }
    }

    /// `attributes`: five pointers each, to its name, prefix and namespace, and to the first byte of its value and the
    /// byte after the last.
    private static func attributes(
        _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        count: Int
    ) -> [(name: String, value: String)] {
        guard let attributes else { return [] }
        return (0..<count).map { index in
            let parts = attributes + 5 * index
            let value = UnsafeBufferPointer(start: parts[3], count: parts[4]! - parts[3]!)
            return (Self.name(parts[1], parts[0]), String(decoding: value, as: UTF8.self))
        }
    }
}
