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
/// Unchecked, because only code under the lock uses libxml2's context and the callbacks, and `deinit` frees the
/// context.
final class XMLReader: @unchecked Sendable {
    private let lock = NIOLock()
    private let callbacks: XMLCallbacks
    private let context: xmlParserCtxtPtr
    private var filter: XMLGuard
    private var fault: FormatError?
    private var hasBegun = false
    private var hasEnded = false

    /// Initializes libxml2 once, on one thread.
    private static let library: Void = xmlInitParser()

    init(_ rules: XMLRules) {
        Self.library
        self.filter = XMLGuard(rules)
        self.callbacks = XMLCallbacks(depthMax: rules.depthMax)
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
            try self.feed(try self.filter.pass(piece, isLast: isLast), take)
            if isLast { try self.finish(take) }
        } catch {
            self.fault = error
            throw error
        }
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
        // For no bytes at all libxml2 has another message.
        if self.hasBegun {
            xmlParseChunk(self.context, nil, 0, 1)
            try self.deliver(take)
        }
        guard self.callbacks.isComplete, self.context.pointee.wellFormed != 0 else {
            throw self.filter.location.failure("the XML ends too early")
        }
    }

    private func deliver(_ take: (XMLEvent) throws(FormatError) -> Void) throws(FormatError) {
        for event in self.callbacks.takeEvents() { try take(event) }
        if let fault = self.callbacks.fault { throw fault }
    }

    /// Refuses a tag or comment that is too long: libxml2 buffers it until its end arrives.
    private func checkWaiting() throws(FormatError) {
        guard let input = self.context.pointee.input?.pointee, input.end - input.cur > Limits.xmlMarkupBytesMax else {
            return
        }
        throw self.callbacks.location.failure("a tag or comment of more than \(Limits.xmlMarkupBytesMax) bytes")
    }
}
