import NestModel
import NestProtocol

extension PresenceTable {
    /// The body of a PRESENCE frame, for all these connections.
    package struct Push: Sendable {
        package var body: [UInt8]
        package var recipients: [ConnectionID]
    }

    /// Whether a follower may be sent a scope's state now.
    package enum Reach {
        case ready
        /// It still has to be sent diffs that the state may refer to.
        case waiting
        /// Its token does not reach the scope any more.
        case outside
    }

    /// Returns what to send now: the changes of each scope, to the followers that know what was before, and the whole
    /// state to the others. A scope whose last frame was sent a moment ago waits for a later call.
    package mutating func flush(
        now: Int64,
        head: Revision,
        reach: (ConnectionID, ObjectID) -> Reach
    ) -> [Push] {
        self.advance(now: now, head: head)
        var pushes: [Push] = []
        for scope in self.dirty.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let state = self.scopes[scope] else {
                self.dirty.remove(scope)
                continue
            }
            if state.pace.isDue(now) { self.flush(scope, state, now: now, reach: reach, &pushes) }
        }
        return pushes
    }

    private mutating func flush(
        _ scope: ObjectID,
        _ state: Scope,
        now: Int64,
        reach: (ConnectionID, ObjectID) -> Reach,
        _ pushes: inout [Push]
    ) {
        var state = state
        let start = pushes.count
        let changes = state.takeChanges()
        var (current, stale, outside): ([ConnectionID], [ConnectionID], [ConnectionID]) = ([], [], [])
        let isChanged = !changes.isEmpty
        for id in (isChanged ? state.followers : state.stale).sorted() {
            switch reach(id, scope) {
            case .ready:
                if state.stale.remove(id) != nil { stale.append(id) } else { current.append(id) }
            case .waiting:
                state.stale.insert(id)
                self.wait(id, for: scope)
            case .outside: outside.append(id)
            }
        }
        self.scopes[scope] = state
        self.dirty.remove(scope)
        if !current.isEmpty {
            pushes.append(Push(body: PresenceMessage(scope: scope, isWhole: false, changes).body, recipients: current))
        }
        if !stale.isEmpty { pushes.append(Push(body: state.whole(scope), recipients: stale)) }
        if !outside.isEmpty {
            let nothing = PresenceMessage(scope: scope, isWhole: true, [])
            pushes.append(Push(body: nothing.body, recipients: outside))
            for id in outside { self.unfollow(scope, id) }
        }
        let byteCount = pushes[start...].reduce(0) { $0 + $1.body.count * $1.recipients.count }
        if byteCount > 0 { self.scopes[scope]?.pace.sent(now: now, pause: Self.pause(after: byteCount)) }
        self.dropIfEmpty(scope)
    }

    /// The time between two frames of a scope: longer if much was sent.
    private static func pause(after byteCount: Int) -> Int64 {
        max(self.frameTime, Int64(byteCount) * 1_000_000 / Int64(Limits.presenceBytesPerSecondMax))
    }
}

extension PresenceTable.Scope {
    /// Returns what has changed since the last call, ascending.
    fileprivate mutating func takeChanges() -> [PresenceMessage.Change] {
        var changes: [PresenceMessage.Change] = []
        for number in self.changed.sorted() {
            let state = self.entries[number]?.shown
            guard state != self.sent[number] else { continue }
            self.sent[number] = state
            changes.append(state.map { PresenceMessage.Change($0) } ?? PresenceMessage.Change(gone: number))
        }
        self.changed = []
        return changes
    }

    fileprivate func whole(_ scope: ObjectID) -> [UInt8] {
        let changes = self.sent.keys.sorted().compactMap { self.sent[$0].map { PresenceMessage.Change($0) } }
        return PresenceMessage(scope: scope, isWhole: true, changes).body
    }
}
