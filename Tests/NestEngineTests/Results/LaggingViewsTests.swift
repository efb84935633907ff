import NestEngine
import NestModel
import Testing

@Suite struct LaggingViewsTests {
    private let connections = EngineConnections()
    private let lagging: LaggingViews
    private let first = ConnectionID(1)
    private let second = ConnectionID(2)

    init() {
        self.lagging = LaggingViews(self.connections, workMax: 20)
        self.connections.add(self.first, session: 1, scope: .everything)
        self.connections.add(self.second, session: 2, scope: .everything)
    }

    /// Makes a subscription lag.
    private func lag(_ id: ConnectionID, _ view: UInt32) {
        self.connections[id]?.laggingViews.insert(view)
        self.lagging.append(id, view)
    }

    private func next() -> String? { self.lagging.next().map { "\($0.connection.id) \($0.view)" } }

    @Test func theOldestLaggingViewIsPushedFirst() {
        self.lag(self.first, 11)
        self.lag(self.second, 11)
        self.lag(self.first, 12)
        #expect([self.next(), self.next(), self.next(), self.next()] == ["c1 11", "c2 11", "c1 12", nil])
        #expect(self.connections[self.first]?.laggingViews.isEmpty == true)
        #expect(self.lagging.isEmpty)
    }

    @Test func endedSubscriptionsAreSkipped() {
        self.lag(self.first, 11)
        self.lag(self.second, 12)
        self.lag(self.second, 13)
        _ = self.connections.remove(self.first)
        self.connections[self.second]?.laggingViews.remove(12)
        #expect([self.next(), self.next()] == ["c2 13", nil])
    }

    @Test func viewsOfBlockedConnectionsAreSkipped() {
        self.lag(self.first, 11)
        self.connections[self.first]?.isBlocked = true
        #expect(self.next() == nil)
        #expect(self.connections[self.first]?.laggingViews.isEmpty == true)
    }

    /// The window that exceeds the limit is still pushed, so that each batch pushes at least one.
    @Test func windowsPushedPerBatchAreLimitedByWork() {
        #expect([8, 8, 1].map { self.lagging.takeWork(changeCount: $0) } == [true, true, false])
        self.lagging.beginTurn()
        #expect([100, 0].map { self.lagging.takeWork(changeCount: $0) } == [true, false])
    }
}
