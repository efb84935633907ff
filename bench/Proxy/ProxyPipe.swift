import NIOCore

/// Decides what happens to the bytes of one direction of a connection, and when. It uses no socket and no clock.
///
/// It holds at most `heldBytesMax` and one read. While it holds more, it does not want to read, and the sender is
/// blocked.
struct ProxyPipe {
    enum Step: Equatable {
        /// Forward these bytes, then call `next` again.
        case write(ByteBuffer)
        case wait(until: NIODeadline)
        /// Call `next` again when bytes have arrived or the faults have changed.
        case idle
        /// All bytes have been forwarded and the sender has finished.
        case finish
        case cut
        case reset
    }

    static let heldBytesMax = 64 << 10
    /// A throttled direction forwards its bytes in slices of a twentieth of a second.
    private static let slicesPerSecond = 20

    private let direction: ProxyDirection
    private var faults = Faults.none
    private var random: ProxyRandom
    private var chunks: CircularBuffer<(bytes: ByteBuffer, due: NIODeadline)> = []
    private(set) var heldBytes = 0
    private(set) var forwardedBytes = 0
    /// The bytes forwarded since the faults began.
    private var faultyBytes = 0
    /// The earliest time for the next piece.
    private var openAt = NIODeadline.uptimeNanoseconds(0)
    private(set) var isEnded = false
    /// Whether bytes were discarded, so that the connection cannot continue.
    private(set) var hasLost = false

    init(_ direction: ProxyDirection, _ faults: Faults, seed: UInt64) {
        self.direction = direction
        self.random = ProxyRandom(seed: seed)
        self.begin(faults)
    }

    /// Replaces the faults. Held bytes stay, with their delays.
    mutating func begin(_ faults: Faults) {
        self.faults = faults.concern(self.direction) ? faults : .none
        self.faultyBytes = 0
        self.openAt = NIODeadline.uptimeNanoseconds(0)
    }

    /// Holds bytes from the sender.
    mutating func received(_ bytes: ByteBuffer, now: NIODeadline) {
        guard bytes.readableBytes > 0 else { return }
        self.heldBytes += bytes.readableBytes
        self.chunks.append((bytes, now + .milliseconds(Int64(self.faults.delayMilliseconds))))
    }

    /// The sender has finished.
    mutating func ended() { self.isEnded = true }

    var wantsToRead: Bool { !self.isEnded && self.heldBytes < Self.heldBytesMax }

    /// Whether there is nothing left to forward, now or later.
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

    /// The maximum size of the next piece.
    private var pieceBytes: Int {
        mutating get {
            var bytes = 64 << 10
            switch self.faults.segments {
            case .asTheyCome: break
            case .of(let size): bytes = size
            // All orders of magnitude are about equally frequent: small pieces are as frequent as pieces of 4 to 64 kB.
            case .random: bytes = self.random.pick(1...1 << self.random.pick(0...16))
            }
            if let rate = self.faults.bytesPerSecond { bytes = min(bytes, max(rate / Self.slicesPerSecond, 1)) }
            if let breaking = self.faults.breaking { bytes = min(bytes, breaking.afterBytes - self.faultyBytes) }
            return bytes
        }
    }

    /// Removes a piece from the front: a part of one chunk, or several chunks joined.
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

    /// Sets the pause after a piece.
    private mutating func hold(_ byteCount: Int, now: NIODeadline) {
        if let rate = self.faults.bytesPerSecond {
            self.openAt = now + .nanoseconds(Int64(byteCount) * 1_000_000_000 / Int64(rate))
        } else if self.faults.segments == .random, self.random.pick(0...3) == 0 {
            // Bytes that arrive during the pause are joined with the held ones.
            self.openAt = now + .microseconds(Int64(self.random.pick(50...3_000)))
        }
    }
}
