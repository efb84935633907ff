import NestModel
import NestProtocol
import NestStore

/// The records that one connection to the leader delivers: joins their pieces, and lets none through behind a gap.
struct IncomingRecords {
    enum State: Equatable {
        /// The leader sends records as they are committed.
        case streaming
        /// The leader does not have what follows: send FOLLOW again when the node has read it from the log.
        case behind
    }

    private(set) var state = State.behind
    /// The id of the newest FOLLOW: frames of earlier ones are ignored.
    private(set) var id: UInt32?
    /// The position up to which records have arrived, or were there before FOLLOW.
    private(set) var through: Int64 = 0
    /// The pieces of the record that is arriving.
    private var pieces: [UInt8] = []
    private var arriving: LogPosition?

    mutating func follow(id: UInt32, from position: Int64) {
        self = IncomingRecords()
        self.state = .streaming
        self.id = id
        self.through = position
    }

    mutating func fallBehind() {
        self.state = .behind
        self.pieces = []
        self.arriving = nil
    }

    /// Takes a record or a piece of one. Returns a record that is whole and continues the earlier ones.
    mutating func take(_ record: Record, hasMore: Bool) throws(NestError) -> LogEntry? {
        guard self.state == .streaming else { return nil }
        let position = LogPosition(position: record.position, chain: Chain(record.chain))
        if let arriving {
            guard arriving == position else {
                throw NestError(.protocolViolation, "the record \(position) began before \(arriving) was whole")
            }
            guard self.pieces.count + record.bytes.count <= Limits.logRingBytes else {
                throw NestError(.limitExceeded, "the record \(position) is larger than \(Limits.logRingBytes) bytes")
            }
            self.pieces += record.bytes
        } else {
            self.pieces = record.bytes
            self.arriving = position
        }
        guard !hasMore else { return nil }
        let bytes = self.pieces
        self.pieces = []
        self.arriving = nil
        guard position.position > self.through else { return nil }
        guard position.position == self.through + 1 else {
            self.fallBehind()
            return nil
        }
        self.through = position.position
        return LogEntry(position: position, bytes: LogBytes(bytes))
    }
}
