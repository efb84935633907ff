import NIOCore
import NestModel
import NestProtocol

/// Limits the WebSocket frames that complete no frame of the protocol: no other limit applies to their work, so it is
/// that of control frames.
///
/// While the connection may handle no more frames of the protocol, it cannot know which frames complete one. Then the
/// quota counts small frames, and takes the tokens before the next read: the connection reads again only when it has
/// handled every complete frame.
package struct WebSocketQuota {
    private var tokens: TokenBucket
    /// Small frames whose bytes waited to be handled, and the number of frames of the protocol handled before them.
    private var waiting = (count: 0, handledBefore: 0)

    package init(_ rate: TokenBucket.Rate, now: NIODeadline) { self.tokens = TokenBucket(rate, now: now) }

    /// Counts a frame. Returns whether the client may send it. `byteCount`: its bytes of the protocol. `handledBefore`,
    /// `handled`: the number of frames of the protocol that were handled before it, and until now. `waits`: whether
    /// received bytes wait.
    package mutating func take(_ byteCount: Int, handledBefore: Int, handled: Int, waits: Bool) -> Bool {
        guard byteCount > 0 else { return self.tokens.take() }
        guard byteCount < Limits.controlChunkBytesMax, handled == handledBefore else { return true }
        guard waits else { return self.tokens.take() }
        if self.waiting.count == 0 { self.waiting.handledBefore = handled }
        self.waiting.count += 1
        return true
    }

    /// Begins a read. Returns whether the client may send what it sent before. `handled`: the number of frames of the
    /// protocol that were handled until now.
    package mutating func beginRead(handled: Int) -> Bool {
        guard self.waiting.count > 0 else { return true }
        let due = self.waiting.count - (handled - self.waiting.handledBefore)
        self.waiting.count = 0
        for _ in 0..<max(0, due) {
            guard self.tokens.take() else { return false }
        }
        return true
    }
}
