import NestModel
import NestProtocol

/// The clients that a client knows to be present, from the PRESENCE frames that it got.
struct KnownPresence {
    private(set) var scopes: [ObjectID: [UInt64: PresenceState]] = [:]
    /// The number of frames, and of presences in them.
    private(set) var frameCount = 0
    private(set) var changeCount = 0

    mutating func take(_ message: PresenceMessage) {
        self.frameCount += 1
        self.changeCount += message.changes.count
        if message.isWhole { self.scopes[message.scope] = [:] }
        for change in message.changes { self.scopes[message.scope, default: [:]][change.number] = change.state }
    }

    func states(in scope: ObjectID) -> [PresenceState] {
        (self.scopes[scope] ?? [:]).values.sorted { $0.number < $1.number }
    }

    /// What is shown in a scope, as text, by number.
    func texts(in scope: ObjectID) -> [String] {
        self.states(in: scope).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    mutating func forget(_ scope: ObjectID) { self.scopes[scope] = nil }
}
