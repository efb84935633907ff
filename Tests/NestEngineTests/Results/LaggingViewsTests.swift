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

    /// A subscription lags, and can catch up.
    private func lag(_ id: ConnectionID, _ view: UInt32) {
        self.connections[id]?.laggingViews.insert(view)
        self.lagging.append(id, view)
    }

    private func next() -> String? { self.lagging.next().map { "\($0.connection.id) \($0.view)" } }

    @Test func theOldestCatchesUpFirst() {
        self.lag(self.first, 11)
        self.lag(self.second, 11)
        self.lag(self.first, 12)
        #expect([self.next(), self.next(), self.next(), self.next()] == ["c1 11", "c2 11", "c1 12", nil])
        #expect(self.connections[self.first]?.laggingViews.isEmpty == true)
        #expect(self.lagging.isEmpty)
    }

    @Test func subscriptionsThatAreGoneAreLeftOut() {
        self.lag(self.first, 11)
        self.lag(self.second, 12)
        self.lag(self.second, 13)
        _ = self.connections.remove(self.first)
        self.connections[self.second]?.laggingViews.remove(12)
        #expect([self.next(), self.next()] == ["c2 13", nil])
    }

    @Test func aBlockedConnectionCatchesUpWhenItDrains() {
        self.lag(self.first, 11)
        self.connections[self.first]?.isBlocked = true
        #expect(self.next() == nil)
        #expect(self.connections[self.first]?.laggingViews.isEmpty == true)
    }

    /// The window that goes over the limit is still pushed: a batch always pushes one.
    @Test func windowsOfABatchArePushedUntilTheirWorkIsDone() {
        #expect([8, 8, 1].map { self.lagging.takeWork(changeCount: $0) } == [true, true, false])
        self.lagging.beginTurn()
        #expect([100, 0].map { self.lagging.takeWork(changeCount: $0) } == [true, false])
    }
}
