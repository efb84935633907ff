import NIOConcurrencyHelpers
import NestModel

/// The public numbers of sessions, by their secret ids. The engine and a standby give numbers at the same time: a lock
/// guards them. A number is never given to two sessions.
package final class SessionNumbers: Sendable {
    private struct State {
        var numbers: [Identifier128: UInt64] = [:]
        var ids: [UInt64: Identifier128] = [:]
        var next: UInt64 = 1
        /// How many connections have been sent the number and are not registered with the engine yet.
        var held: [UInt64: Int] = [:]

        mutating func number(of id: Identifier128) -> UInt64 {
            if let number = self.numbers[id] { return number }
            let number = self.next
            self.next += 1
            self.numbers[id] = number
            self.ids[number] = id
            return number
        }
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    /// The session's number; a new one for an unknown session.
    package func number(of id: Identifier128) -> UInt64 { self.state.withLockedValue { $0.number(of: id) } }

    /// The same, and the session keeps its number until `release`, whatever else happens to it.
    package func hold(_ id: Identifier128) -> UInt64 {
        self.state.withLockedValue { state in
            let number = state.number(of: id)
            state.held[number, default: 0] += 1
            return number
        }
    }

    package func release(_ number: UInt64) {
        self.state.withLockedValue { state in
            let count = state.held[number, default: 1] - 1
            state.held[number] = count > 0 ? count : nil
        }
    }

    var count: Int { self.state.withLockedValue { $0.numbers.count } }

    /// The number that the next unknown session gets.
    var next: UInt64 { self.state.withLockedValue { $0.next } }

    func id(of number: UInt64) -> Identifier128? { self.state.withLockedValue { $0.ids[number] } }

    /// Takes a session that the store knows.
    func add(_ id: Identifier128, _ number: UInt64) {
        self.state.withLockedValue { state in
            state.numbers[id] = number
            state.ids[number] = id
            state.next = max(state.next, number + 1)
        }
    }

    /// A number that was given in an earlier run is not given again.
    func noteGiven(_ number: UInt64) {
        self.state.withLockedValue { $0.next = max($0.next, number + 1) }
    }

    /// Forgets a session, unless its number is held. Returns whether it did.
    func remove(_ number: UInt64) -> Bool {
        self.state.withLockedValue { state in
            guard state.held[number] == nil, let id = state.ids.removeValue(forKey: number) else { return false }
            state.numbers[id] = nil
            return true
        }
    }
}
