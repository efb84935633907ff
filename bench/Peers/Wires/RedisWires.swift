/// Commands in Redis's protocol, RESP2.
enum RedisCommand {
    static func bytes(_ words: [String]) -> [UInt8] {
        var text = "*\(words.count)\r\n"
        for word in words { text += "$\(word.utf8.count)\r\n\(word)\r\n" }
        return [UInt8](text.utf8)
    }
}

/// Splits a stream of RESP2 into replies. An array with all its elements is one reply.
struct RedisReplies {
    private var scanner = LineScanner()
    /// The number of values missing from the current reply.
    private var missing = 1
    /// The index of the next element in the outer array.
    private var element = 0

    /// Calls `onElement` for each text, with its index in its array and its first bytes, and `onReply` for each
    /// complete reply.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        onElement: (Int, UnsafeRawBufferPointer) -> Void,
        onReply: () -> Void
    ) throws {
        var missing = self.missing
        var element = self.element
        func end() {
            missing -= 1
            element += 1
            guard missing == 0 else { return }
            onReply()
            missing = 1
            element = 0
        }
        try self.scanner.scan(
            bytes,
            onLine: { line in
                switch line.first {
                case UInt8(ascii: "*"):
                    let count = line.lastNumber
                    if count == 0 {
                        end()
                    } else {
                        missing += count - 1
                        element = 0
                    }
                case UInt8(ascii: "$") where line.count > 1 && line[1] != UInt8(ascii: "-"):
                    return LineScanner.Payload(bytes: line.lastNumber + 2, kept: 1)
                case UInt8(ascii: "-"): throw PeerRefusal("Redis refused: \(line.text)")
                default: end()
                }
                return .none
            },
            onPayload: { payload in
                onElement(element, payload)
                end()
            }
        )
        self.missing = missing
        self.element = element
    }
}

/// Subscribes to a channel.
public final class RedisSubscriber: PeerWire {
    public let opening: [UInt8]
    private var replies = RedisReplies()
    private var isMessage = false

    public init(channel: String) {
        self.opening = RedisCommand.bytes(["SUBSCRIBE", channel])
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        var isMessage = self.isMessage
        try self.replies.scan(
            bytes,
            onElement: { index, text in
                // "message", channel, payload; or "subscribe", channel, count.
                if index == 0 { isMessage = text.first == UInt8(ascii: "m") }
            },
            onReply: {
                if isMessage { received.deliveries += 1 } else { received.isReady = true }
            }
        )
        self.isMessage = isMessage
        return received
    }
}

/// Repeats the same commands and reports the texts in their replies as deliveries.
public final class RedisRequester: RequestWire {
    public let opening = RedisCommand.bytes(["PING"])
    private let request: [UInt8]
    private let commandCount: Int
    private var replies = RedisReplies()
    private var isReady = false
    /// The number of replies to a request that is not fully answered.
    private var replyCount = 0

    /// `commands`: the commands of one request, sent together.
    public init(_ commands: [[String]]) {
        self.request = commands.flatMap { RedisCommand.bytes($0) }
        self.commandCount = commands.count
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        var replyCount = 0
        try self.replies.scan(
            bytes,
            onElement: { _, _ in received.deliveries += 1 },
            onReply: { replyCount += 1 }
        )
        if !self.isReady, replyCount > 0 {
            self.isReady = true
            received.isReady = true
            replyCount -= 1
        }
        self.replyCount += replyCount
        received.answers = self.replyCount / self.commandCount
        self.replyCount %= self.commandCount
        return received
    }

    public func appendRequest(to output: inout [UInt8]) { output += self.request }
}
