import NestEngine
import NestModel
import NestStore
import Testing

@Suite struct UndoStatesTests {
    @Test func onlyFollowersOfASessionThatHasChangedAreNotified() throws {
        let store = try Store(
            .init(location: .memory, model: .nestedList),
            newHistoryID: Identifier128(high: 1, low: 2)
        )
        let connections = EngineConnections()
        let sessions = try store.access { try Sessions(store) }
        let states = UndoStates(sessions, connections)
        let ids = (1...3).map { ConnectionID($0) }
        for id in ids { connections.add(id, session: id.rawValue % 2, scope: .everything) }
        let follower = try #require(connections[ids[0]])
        #expect(states.state(follower, follows: true) == UndoState())
        var effects: [EngineEffect] = []
        states.push(&effects)
        #expect(effects.isEmpty)

        // The follower's state is out of date, but its session has not changed.
        follower.undoState = UndoState(undoCount: 1)
        states.push(&effects)
        #expect(effects.isEmpty)
        sessions.changed = [0, 1]
        follower.isBlocked = true
        states.push(&effects)
        #expect(effects.isEmpty && sessions.changed.isEmpty)
        follower.isBlocked = false
        sessions.changed = [1]
        states.push(&effects)
        guard case .undoState(let state, let to)? = effects.first else { throw NestError(.invalid, "no effect") }
        #expect(state == UndoState() && to == [ids[0]] && effects.count == 1)

        follower.undoState = UndoState(undoCount: 1)
        states.leave(ids[0])
        sessions.changed = [1]
        states.push(&effects)
        #expect(effects.count == 1)
    }
}
