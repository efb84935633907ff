import CLibXML2
import NIOConcurrencyHelpers
import NestModel

/// Reads XML with libxml2, from bytes that arrive in pieces of any size. Memory grows only with the longest tag and the
/// depth.
///
/// The reader is safe for untrusted files:
/// - It stops at a document type declaration, before libxml2 reads any entity. So only XML's own five entities expand,
///   and libxml2 opens no other file and no network connection.
/// - Elements nest at most `XMLRules.depthMax` deep, and a tag or comment has at most `Limits.xmlMarkupBytesMax` bytes.
/// - `XMLGuard` refuses encodings and bytes that libxml2 would have to guess.
///
/// A lenient reader repairs common faults before: see `XMLRepair`. Locations are always those of the original text.
///
/// Unchecked, because only code under the lock uses libxml2's context and the callbacks, and `deinit` frees the
/// context.
final class XMLReader: @unchecked Sendable {
    private let lock = NIOLock()
    private let callbacks: XMLCallbacks
    private let context: xmlParserCtxtPtr
    private var filter: XMLGuard
    private var repair: XMLRepair?
    private var fault: FormatError?
    private var hasBegun = false
    private var hasEnded = false

    /// Initializes libxml2 once, on one thread.
    private static let library: Void = xmlInitParser()

    init(_ rules: XMLRules, isLenient: Bool = false) {
        Self.library
        self.filter = XMLGuard(rules)
        self.repair = isLenient ? XMLRepair() : nil
        self.callbacks = XMLCallbacks(rules)
        var handler = XMLCallbacks.handler
        let user = Unmanaged.passUnretained(self.callbacks).toOpaque()
        guard let context = xmlCreatePushParserCtxt(&handler, user, nil, 0, nil) else {
            preconditionFailure("no memory for libxml2")
        }
        // Without NOENT, libxml2 reports an & in a value as `&#38;`.
        xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOENT.rawValue))
        self.context = context
        self.callbacks.context = context
    }

    deinit {
        xmlFreeParserCtxt(self.context)
    }

    /// What a lenient reader has repaired; `nil` for another reader.
    var repairs: RepairCounts? { self.lock.withLock { self.repair?.counts } }

    /// Parses the next piece and passes its events to `take`. Throws the first fault, of the document or of `take`;
    /// later calls throw it again.
    func read(
        _ piece: [UInt8],
        isLast: Bool,
        _ take: (XMLEvent) throws(FormatError) -> Void
    ) throws(FormatError) {
        self.lock.lock()
        defer { self.lock.unlock() }
        if let fault = self.fault { throw fault }
        guard !self.hasEnded else { return }
        do throws(FormatError) {
            try self.feed(try self.checked(piece, isLast: isLast), take)
            if isLast { try self.finish(take) }
        } catch {
            self.fault = error
            throw error
        }
    }

    /// Returns the bytes for libxml2.
    private func checked(_ piece: [UInt8], isLast: Bool) throws(FormatError) -> [UInt8] {
        self.repair?.forget(before: self.callbacks.location)
        let bytes = self.repair?.pass(piece, isLast: isLast) ?? piece
        do throws(FormatError) {
            return try self.filter.pass(bytes, isLast: isLast)
        } catch {
            throw self.original(error)
        }
    }

    /// Returns an error, located in the text for libxml2, with its location in the original text.
    private func original(_ error: FormatError) -> FormatError {
        guard let repair = self.repair, error.line > 0 else { return error }
        var error = error
        let location = repair.original(TextLocation(line: error.line, column: max(error.column, 1)))
        (error.line, error.column) = (location.line, error.column > 0 ? location.column : 0)
        return error
    }

    /// The bytes that libxml2 parses in one call: few, so that few events wait and a fault ends the reading soon.
    private static let feedBytesMax = 64 << 10

    private func feed(_ bytes: [UInt8], _ take: (XMLEvent) throws(FormatError) -> Void) throws(FormatError) {
        self.callbacks.doctype = self.filter.doctype
        self.callbacks.endLocation = self.filter.location
        var start = 0
        while start < bytes.count {
            let count = min(Self.feedBytesMax, bytes.count - start)
            self.hasBegun = true
            _ = bytes.withUnsafeBytes { all in
                let chunk = UnsafeRawBufferPointer(rebasing: all[start..<start + count])
                return xmlParseChunk(self.context, chunk.bindMemory(to: CChar.self).baseAddress, Int32(count), 0)
            }
            start += count
            try self.deliver(take)
            try self.checkWaiting()
        }
    }

    private func finish(_ take: (XMLEvent) throws(FormatError) -> Void) throws(FormatError) {
        self.hasEnded = true
        self.callbacks.endLocation = self.filter.location
        guard self.hasBegun else { throw self.original(self.filter.location.failure("the file is empty")) }
        xmlParseChunk(self.context, nil, 0, 1)
        try self.deliver(take)
        guard self.callbacks.isComplete, self.context.pointee.wellFormed != 0 else {
            throw self.original(self.callbacks.missingEnd)
        }
    }

    private func deliver(_ take: (XMLEvent) throws(FormatError) -> Void) throws(FormatError) {
        for event in self.callbacks.takeEvents() {
            guard let repair = self.repair, case .begin(let name, let attributes, let location) = event else {
                try take(event)
                continue
            }
            try take(.begin(name, attributes: attributes, at: repair.original(location)))
        }
        if let fault = self.callbacks.fault { throw self.original(fault) }
    }

    /// Refuses a tag or comment that is too long: libxml2 buffers it until its end arrives.
    private func checkWaiting() throws(FormatError) {
        guard let input = self.context.pointee.input?.pointee, input.end - input.cur > Limits.xmlMarkupBytesMax else {
            return
        }
        throw self.original(self.callbacks.location.failure(XMLFault.longMarkup))
    }
}
