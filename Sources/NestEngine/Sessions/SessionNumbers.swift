import NIOConcurrencyHelpers
import NestModel

/// The public numbers of sessions, by their secret ids. The engine and a standby assign numbers at the same time, so a
/// lock guards them. No number is ever assigned to two sessions.
///
/// In a cluster only the leader assigns numbers. On a follower an unknown session has the number 0 until it is known.
package final class SessionNumbers: Sendable {
    private struct State {
        var numbers: [Identifier128: UInt64] = [:]
        var ids: [UInt64: Identifier128] = [:]
        var next: UInt64 = 1
        /// The number of connections, by session number, that were sent the number and are not registered with the
        /// engine yet.
        var held: [UInt64: Int] = [:]
        var isAssigning = true
        var isOfCluster = false
        /// In a cluster: the numbers that only this node knows, because their sessions have not written yet.
        var unsaved: Set<UInt64> = []

        mutating func number(of id: Identifier128) -> UInt64 {
            if let number = self.numbers[id] { return number }
            guard self.isAssigning else { return 0 }
            let number = self.next
            self.next += 1
            if self.isOfCluster { self.unsaved.insert(number) }
            self.numbers[id] = number
            self.ids[number] = id
            return number
        }
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    /// Returns the session's number; a new one for an unknown session.
    package func number(of id: Identifier128) -> UInt64 { self.state.withLockedValue { $0.number(of: id) } }

    /// Returns the session's number as `number(of:)` does. The session keeps it until `release`, even if the session is
    /// forgotten otherwise.
    package func hold(_ id: Identifier128) -> UInt64 {
        self.state.withLockedValue { state in
            let number = state.number(of: id)
            if number > 0 { state.held[number, default: 0] += 1 }
            return number
        }
    }

    package func release(_ number: UInt64) {
        self.state.withLockedValue { state in
            guard number > 0 else { return }
            let count = state.held[number, default: 1] - 1
            state.held[number] = count > 0 ? count : nil
        }
    }

    var count: Int { self.state.withLockedValue { $0.numbers.count } }

    /// The number that the next unknown session gets.
    var next: UInt64 { self.state.withLockedValue { $0.next } }

    func id(of number: UInt64) -> Identifier128? { self.state.withLockedValue { $0.ids[number] } }

    /// Adds a session that the store knows.
    func add(_ id: Identifier128, _ number: UInt64) {
        self.state.withLockedValue { state in
            state.numbers[id] = number
            state.ids[number] = id
            state.unsaved.remove(number)
            state.next = max(state.next, number + 1)
        }
    }

    /// Notes a number that was assigned in an earlier run, so that it is not assigned again.
    func noteGiven(_ number: UInt64) {
        self.state.withLockedValue { state in
            state.next = max(state.next, number + 1)
            state.unsaved.remove(number)
        }
    }

    /// Notes that the store has the session: its number is not assigned to another one any more.
    func noteSaved(_ number: UInt64) { self.state.withLockedValue { _ = $0.unsaved.remove(number) } }

    /// Returns the number for WELCOME: 0 while the next leader of a cluster may assign it to another session.
    package func shown(_ number: UInt64) -> UInt64 {
        self.state.withLockedValue { $0.unsaved.contains(number) ? 0 : number }
    }

    /// Forgets a session, unless its number is held. Returns whether it did.
    func remove(_ number: UInt64) -> Bool {
        self.state.withLockedValue { state in
            guard state.held[number] == nil, let id = state.ids.removeValue(forKey: number) else { return false }
            state.unsaved.remove(number)
            if state.numbers[id] == number { state.numbers[id] = nil }
            return true
        }
    }

    // MARK: Cluster

    func beginAssigning() { self.state.withLockedValue { $0.isAssigning = true } }

    /// Stops assigning numbers, and forgets those that are not known to all nodes: the next leader may assign them to
    /// other sessions. `known`: the numbers in the store and in the journal.
    func endAssigning(keeping known: some Sequence<UInt64>) {
        self.state.withLockedValue { state in
            state.isAssigning = false
            state.isOfCluster = true
            state.unsaved = []
            let known = Set(known)
            state.held = state.held.filter { known.contains($0.key) }
            for (number, id) in state.ids where !known.contains(number) {
                state.ids[number] = nil
                state.numbers[id] = nil
            }
            state.next = (known.max() ?? 0) + 1
        }
    }

    /// Forgets a session that the leader has forgotten, although connections of this node may have been sent its
    /// number.
    func drop(_ number: UInt64) {
        self.state.withLockedValue { state in
            state.held[number] = nil
            state.unsaved.remove(number)
            if let id = state.ids.removeValue(forKey: number) { state.numbers[id] = nil }
        }
    }
}
