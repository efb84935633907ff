import NIOCore

/// Decides what happens to the bytes of one way of a connection, and when. Knows no socket and no clock.
///
/// Holds at most `heldBytesMax` and one read: while it holds more it does not want to read, and the sender feels it.
struct ProxyPipe {
    enum Step: Equatable {
        /// Forward these, then ask again.
        case write(ByteBuffer)
        case wait(until: NIODeadline)
        /// Ask again when something has come or the faults have changed.
        case idle
        /// Everything has been forwarded and the sender is done.
        case finish
        case cut
        case reset
    }

    static let heldBytesMax = 64 << 10
    /// A throttled way gets its bytes in slices of a twentieth of a second.
    private static let slicesPerSecond = 20

    private let direction: ProxyDirection
    private var faults = Faults.none
    private var random: ProxyRandom
    private var chunks: CircularBuffer<(bytes: ByteBuffer, due: NIODeadline)> = []
    private(set) var heldBytes = 0
    private(set) var forwardedBytes = 0
    /// Forwarded since the faults began.
    private var faultyBytes = 0
    /// Not before this is anything more forwarded.
    private var openAt = NIODeadline.uptimeNanoseconds(0)
    private(set) var isEnded = false
    /// Bytes were swallowed: this way can never be mended.
    private(set) var hasLost = false

    init(_ direction: ProxyDirection, _ faults: Faults, seed: UInt64) {
        self.direction = direction
        self.random = ProxyRandom(seed: seed)
        self.begin(faults)
    }

    /// What is held stays and its delay too.
    mutating func begin(_ faults: Faults) {
        self.faults = faults.concern(self.direction) ? faults : .none
        self.faultyBytes = 0
        self.openAt = NIODeadline.uptimeNanoseconds(0)
    }

    /// The sender has more.
    mutating func received(_ bytes: ByteBuffer, now: NIODeadline) {
        guard bytes.readableBytes > 0 else { return }
        self.heldBytes += bytes.readableBytes
        self.chunks.append((bytes, now + .milliseconds(Int64(self.faults.delayMilliseconds))))
    }

    /// The sender is done.
    mutating func ended() { self.isEnded = true }

    var wantsToRead: Bool { !self.isEnded && self.heldBytes < Self.heldBytesMax }

    /// Nothing of it is left to forward, or will be.
    var isOver: Bool { self.isEnded && (self.chunks.isEmpty || self.brokenBy == .halfOpen) }

    private var brokenBy: Faults.Break? {
        guard let breaking = self.faults.breaking, self.faultyBytes >= breaking.afterBytes else { return nil }
        return breaking.kind
    }

    mutating func next(now: NIODeadline) -> Step {
        switch self.brokenBy {
        case .cut: return .cut
        case .reset: return .reset
        case .stall: return .idle
        case .halfOpen:
            self.swallow()
            return .idle
        case nil: break
        }
        guard let first = self.chunks.first else { return self.isEnded ? .finish : .idle }
        let due = max(first.due, self.openAt)
        guard due <= now else { return .wait(until: due) }
        let piece = self.take(upTo: self.pieceBytes, now: now)
        self.forwardedBytes += piece.readableBytes
        self.faultyBytes += piece.readableBytes
        self.hold(piece.readableBytes, now: now)
        return .write(piece)
    }

    private mutating func swallow() {
        if self.heldBytes > 0 || self.isEnded { self.hasLost = true }
        self.chunks.removeAll()
        self.heldBytes = 0
    }

    /// How much may go out at once.
    private var pieceBytes: Int {
        mutating get {
            var bytes = 64 << 10
            switch self.faults.segments {
            case .asTheyCome: break
            case .of(let size): bytes = size
            // Of all sizes alike: as many below 16 bytes as between 4 and 64 k.
            case .random: bytes = self.random.pick(1...1 << self.random.pick(0...16))
            }
            if let rate = self.faults.bytesPerSecond { bytes = min(bytes, max(rate / Self.slicesPerSecond, 1)) }
            if let breaking = self.faults.breaking { bytes = min(bytes, breaking.afterBytes - self.faultyBytes) }
            return bytes
        }
    }

    /// From the front: a piece of one chunk, or chunks joined.
    private mutating func take(upTo count: Int, now: NIODeadline) -> ByteBuffer {
        var piece = ByteBuffer()
        while piece.readableBytes < count, let first = self.chunks.first, first.due <= now {
            var bytes = first.bytes
            var slice = bytes.readSlice(length: min(count - piece.readableBytes, bytes.readableBytes))!
            if piece.readableBytes == 0 { piece = slice } else { piece.writeBuffer(&slice) }
            if bytes.readableBytes == 0 {
                self.chunks.removeFirst()
            } else {
                self.chunks[self.chunks.startIndex].bytes = bytes
            }
            if self.faults.segments == .asTheyCome { break }
        }
        self.heldBytes -= piece.readableBytes
        return piece
    }

    /// The pause after a piece.
    private mutating func hold(_ byteCount: Int, now: NIODeadline) {
        if let rate = self.faults.bytesPerSecond {
            self.openAt = now + .nanoseconds(Int64(byteCount) * 1_000_000_000 / Int64(rate))
        } else if self.faults.segments == .random, self.random.pick(0...3) == 0 {
            // Meanwhile more may come, and is joined to what is left.
            self.openAt = now + .microseconds(Int64(self.random.pick(50...3_000)))
        }
    }
}
