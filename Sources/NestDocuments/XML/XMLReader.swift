import CLibXML2
import NIOConcurrencyHelpers

/// libxml2's parser, given the bytes of an OPML document piece by piece: memory follows the longest tag and the depth.
///
/// It tells attributes in the order of the file, but for declarations of namespaces, which come before them. It never opens
/// anything outside of the file and keeps its own limits (10 MB for a name, a value or a tag); `XMLGuard` lets no declaration of
/// entities pass.
///
/// Unchecked because of libxml2's context, which is only used under the lock and freed with the parser.
final class OPMLParser: @unchecked Sendable {
    private let lock = NIOLock()
    private let state: State
    private let context: xmlParserCtxtPtr
    private var filter = XMLGuard()
    private var hasBegun = false
    private var hasEnded = false

    /// What libxml2 calls back to.
    private final class State {
        var builder: OPMLBuilder
        /// The first.
        var fault: FormatError?
        /// Set for the time of a call, in which libxml2 calls back.
        var context: xmlParserCtxtPtr?

        init(_ builder: OPMLBuilder) {
            self.builder = builder
        }

        private var line: Int { max(Int(xmlSAX2GetLineNumber(self.context)), 1) }
        private var column: Int { max(Int(xmlSAX2GetColumnNumber(self.context)), 1) }

        func begin(_ name: String, _ attributes: [(name: String, value: String)]) {
            guard self.fault == nil else { return }
            do throws(FormatError) {
                try self.builder.begin(name, attributes, line: self.line, column: self.column)
            } catch {
                self.fault = error
                xmlStopParser(self.context)
            }
        }

        func note(_ message: String) {
            guard self.fault == nil else { return }
            self.fault = FormatError(line: self.line, column: self.column, message)
        }
    }

    init(hasHTML: Bool?, fields: OutlineFields) {
        let state = State(OPMLBuilder(hasHTML: hasHTML, fields: fields))
        var handler = Self.handler
        let user = Unmanaged.passUnretained(state).toOpaque()
        guard let context = xmlCreatePushParserCtxt(&handler, user, nil, 0, nil) else {
            preconditionFailure("there is memory for libxml2")
        }
        // Without the second a & in a value comes as `&#38;`. There are no entities but XML's own five: see `XMLGuard`.
        xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue))
        self.state = state
        self.context = context
    }

    deinit {
        xmlFreeParserCtxt(self.context)
    }

    /// Parses the next piece; returns the rows that it completes and what has been left out so far.
    func parse(_ piece: [UInt8], isLast: Bool) throws(FormatError) -> (rows: [OutlineRow], warnings: [String]) {
        let result = self.lock.withLock { () -> Result<(rows: [OutlineRow], warnings: [String]), FormatError> in
            if !self.hasEnded, self.state.fault == nil { self.take(piece, isLast: isLast) }
            if let fault = self.state.fault { return .failure(fault) }
            return .success((self.state.builder.takeRows(), self.state.builder.warnings))
        }
        return try result.get()
    }

    private func take(_ piece: [UInt8], isLast: Bool) {
        let state = self.state
        state.context = self.context
        defer { state.context = nil }
        var refused: FormatError?
        do throws(FormatError) {
            self.feed(try self.filter.pass(piece, isLast: isLast), isLast: false)
        } catch {
            refused = error
        }
        if let refused, state.fault == nil { state.fault = refused }
        guard isLast, state.fault == nil else { return }
        self.hasEnded = true
        // Of no bytes at all libxml2 has something else to say.
        if self.hasBegun { self.feed([], isLast: true) }
        if !state.builder.isComplete || self.context.pointee.wellFormed == 0 { state.note("the XML ends too early") }
    }

    /// libxml2 counts the bytes of a call with 32 bits.
    private static let feedBytesMax = 1 << 20

    private func feed(_ bytes: [UInt8], isLast: Bool) {
        if isLast { xmlParseChunk(self.context, nil, 0, 1) }
        if !bytes.isEmpty { self.hasBegun = true }
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty, self.state.fault == nil {
                let next = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.feedBytesMax))
                xmlParseChunk(self.context, next.bindMemory(to: CChar.self).baseAddress, Int32(next.count), 0)
                rest = rest.dropFirst(next.count)
            }
        }
    }

    // MARK: What libxml2 calls

    private static func state(_ user: UnsafeMutableRawPointer?) -> State {
        guard let user else { preconditionFailure("libxml2 hands back what it was given") }
        return Unmanaged<State>.fromOpaque(user).takeUnretainedValue()
    }

    private static func string(_ text: UnsafePointer<xmlChar>?) -> String {
        text.map { String(cString: $0) } ?? ""
    }

    /// A name as it stands in the file.
    private static func name(_ prefix: UnsafePointer<xmlChar>?, _ name: UnsafePointer<xmlChar>?) -> String {
        prefix == nil ? Self.string(name) : "\(Self.string(prefix)):\(Self.string(name))"
    }

    /// `namespaces`: pairs of a prefix, if any, and what it stands for.
    private static func declarations(
        _ namespaces: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        count: Int
    ) -> [(name: String, value: String)] {
        (0..<count).map { index in
            let prefix = namespaces?[2 * index]
            return (prefix == nil ? "xmlns" : "xmlns:\(Self.string(prefix))", Self.string(namespaces?[2 * index + 1]))
        }
    }

    /// `attributes`: five pointers each, to its name, prefix and namespace, and to the first and behind the last byte of its value.
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

    private static var handler: xmlSAXHandler {
        var handler = xmlSAXHandler()
        // Of the second interface, whose errors come to `serror`.
        handler.initialized = UInt32(XML_SAX2_MAGIC)
        handler.startElementNs = { user, name, prefix, _, namespaceCount, namespaces, count, _, attributes in
            OPMLParser.state(user).begin(
                OPMLParser.name(prefix, name),
                OPMLParser.declarations(namespaces, count: Int(namespaceCount))
                    + OPMLParser.attributes(attributes, count: Int(count))
            )
        }
        handler.endElementNs = { user, _, _, _ in
            let state = OPMLParser.state(user)
            if state.fault == nil { state.builder.end() }
        }
        let text: charactersSAXFunc = { user, text, count in
            let state = OPMLParser.state(user)
            if state.fault == nil { state.builder.text(UnsafeBufferPointer(start: text, count: Int(count))) }
        }
        handler.characters = text
        handler.cdataBlock = text
        handler.serror = { user, error in
            guard let error = error?.pointee, error.level.rawValue >= XML_ERR_ERROR.rawValue else { return }
            OPMLParser.state(user).note(XMLFault.message(Int(error.code)))
        }
        return handler
    }
}
