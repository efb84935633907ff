import NIOCore
import NestModel

/// The users of scopes, and the pace at which the client shows itself.
struct PresenceUsers {
    /// The followers of each scope, by the `Presence` that they belong to.
    var followers: [ObjectIdentifier: (scope: ObjectID, follower: PresenceFollower)] = [:]
    /// What is to be shown next, the newest of each scope. The order is that of the first changes.
    var waiting: [(scope: ObjectID, bytes: [UInt8]?)] = []
    var isPausing = false

    func isUsed(_ scope: ObjectID) -> Bool { self.followers.values.contains { $0.scope == scope } }
}

extension ClientCore {
    /// The server takes 30 a second from a connection: all scopes share this.
    private static let showPause = TimeAmount.milliseconds(40)

    func followPresence(_ scope: ObjectID, _ id: ObjectIdentifier, _ follower: PresenceFollower) {
        let isFirst = !self.presenceUsers.isUsed(scope)
        self.presenceUsers.followers[id] = (scope, follower)
        if isFirst { return self.perform(self.machine.followPresence(scope)) }
        if let present = self.machine.presentClients(in: scope) { follower.yield(present) }
    }

    func leavePresence(_ scope: ObjectID, _ id: ObjectIdentifier) {
        guard self.presenceUsers.followers.removeValue(forKey: id) != nil, !self.presenceUsers.isUsed(scope) else {
            return
        }
        self.presenceUsers.waiting.removeAll { $0.scope == scope }
        self.perform(self.machine.unfollowPresence(scope))
    }

    func setPresence(_ bytes: [UInt8]?, in scope: ObjectID) {
        if let index = self.presenceUsers.waiting.firstIndex(where: { $0.scope == scope }) {
            self.presenceUsers.waiting[index].bytes = bytes
        } else if self.machine.shows(bytes, in: scope) {
            return
        } else {
            self.presenceUsers.waiting.append((scope, bytes))
        }
        if !self.presenceUsers.isPausing { self.showNext() }
    }

    private func showNext() {
        self.presenceUsers.isPausing = !self.presenceUsers.waiting.isEmpty
        guard self.presenceUsers.isPausing else { return }
        let next = self.presenceUsers.waiting.removeFirst()
        _ = self.schedule(after: Self.showPause) { $0.showNext() }
        self.perform(self.machine.setPresence(next.bytes, in: next.scope))
    }

    func deliver(_ present: PresentClients, in scope: ObjectID) {
        for (each, follower) in self.presenceUsers.followers.values where each == scope { follower.yield(present) }
    }

    func endPresence(_ scope: ObjectID, _ error: NestError) {
        for (id, user) in self.presenceUsers.followers where user.scope == scope {
            self.presenceUsers.followers[id] = nil
            user.follower.finish(throwing: error)
        }
        self.presenceUsers.waiting.removeAll { $0.scope == scope }
    }
}
