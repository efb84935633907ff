import Foundation
import NIOConcurrencyHelpers

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Foundation's `XMLParser`, which wants its whole input at once, over input that comes in pieces: it runs on a thread of
/// its own, and the thread and its caller take turns. So no more than one piece is held, however long the document.
final class OPMLThread: Sendable {
    private enum Turn {
        case caller
        case parser
    }

    /// What goes between the two; only touched by whose turn it is.
    private struct Exchange: Sendable {
        var piece: [UInt8] = []
        var isLast = false
        var rows: [OutlineRow] = []
        var warnings: [String] = []
        var fault: FormatError?
        /// The thread will not take another piece.
        var hasEnded = false
    }

    /// Outlives the caller's end, which the thread is told by the last piece.
    private final class Shared: Sendable {
        let turn = ConditionLock(value: Turn.caller)
        let exchange = NIOLockedValueBox(Exchange())

        func give(_ next: Turn) {
            self.turn.lock()
            self.turn.unlock(withValue: next)
        }

        func wait(for turn: Turn) {
            self.turn.lock(whenValue: turn)
            self.turn.unlock()
        }
    }

    private static let stackBytes = 512 << 10
    private let shared = Shared()

    init(hasHTML: Bool?) {
        let shared = self.shared
        let thread = Thread { Self.run(shared, hasHTML: hasHTML) }
        thread.stackSize = Self.stackBytes
        thread.name = "OPML"
        thread.start()
    }

    deinit {
        self.shared.exchange.withLockedValue { exchange in
            exchange.piece = []
            exchange.isLast = true
        }
        self.shared.give(.parser)
    }

    /// Parses the next piece; returns the rows that it completes and what has been left out so far.
    func parse(
        _ piece: [UInt8],
        isLast: Bool
    ) throws(FormatError) -> (rows: [OutlineRow], warnings: [String]) {
        let hasEnded = self.shared.exchange.withLockedValue { exchange in
            exchange.piece = piece
            exchange.isLast = isLast
            return exchange.hasEnded
        }
        if !hasEnded {
            self.shared.give(.parser)
            self.shared.wait(for: .caller)
        }
        let (rows, warnings, fault) = self.shared.exchange.withLockedValue { exchange in
            defer { exchange.rows = [] }
            return (exchange.rows, exchange.warnings, exchange.fault)
        }
        if let fault { throw fault }
        return (rows, warnings)
    }

    private static func run(_ shared: Shared, hasHTML: Bool?) {
        shared.wait(for: .parser)
        let outline = OPMLDelegate(hasHTML: hasHTML)
        let stream = PieceStream(shared, outline)
        // As a stream: given the data, it reads on to the end after a fault.
        let parser = XMLParser(stream: stream)
        parser.delegate = outline
        parser.shouldResolveExternalEntities = false
        parser.externalEntityResolvingPolicy = .never
        let isRead = parser.parse()
        // It may say that all is well when the text just ends.
        if outline.fault == nil, !isRead || !outline.isComplete {
            outline.note("the XML ends too early", parser)
        }
        stream.deliver(hasEnded: true)
    }

    /// The pieces as the stream that the parser reads from.
    private final class PieceStream: InputStream {
        private let shared: Shared
        private let outline: OPMLDelegate
        private var filter = XMLGuard()
        private var piece: ArraySlice<UInt8> = []
        private var isLast = false
        private var isStarted = false

        init(_ shared: Shared, _ outline: OPMLDelegate) {
            self.shared = shared
            self.outline = outline
            super.init(data: Data())
        }

        override func open() {}
        override func close() {}
        override var hasBytesAvailable: Bool { true }

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            while self.piece.isEmpty {
                guard !self.isLast, self.outline.fault == nil else { return 0 }
                self.takeNext()
            }
            let count = min(maxLength, self.piece.count)
            self.piece.prefix(count).withUnsafeBufferPointer { bytes in
                if let start = bytes.baseAddress { buffer.update(from: start, count: count) }
            }
            self.piece.removeFirst(count)
            return count
        }

        override func getBuffer(
            _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
            length: UnsafeMutablePointer<Int>
        ) -> Bool { false }

        private func takeNext() {
            if self.isStarted {
                self.deliver(hasEnded: false)
                self.shared.wait(for: .parser)
            }
            self.isStarted = true
            let (piece, isLast) = self.shared.exchange.withLockedValue { ($0.piece, $0.isLast) }
            self.isLast = isLast
            do throws(FormatError) {
                self.piece = try self.filter.pass(piece, isLast: isLast)[...]
            } catch {
                self.outline.fault = error
            }
        }

        /// What has been read, and the turn.
        func deliver(hasEnded: Bool) {
            self.shared.exchange.withLockedValue { exchange in
                exchange.rows = self.outline.takeRows()
                exchange.warnings = self.outline.warnings
                exchange.fault = self.outline.fault
                exchange.hasEnded = hasEnded
            }
            self.shared.give(.caller)
        }
    }
}
