import NestEngine
import NestModel
import Testing

@Suite struct EngineConnectionsTests {
    private let connections = EngineConnections()

    private func id(_ number: UInt64) -> ConnectionID { ConnectionID(number) }

    @Test func aSessionIsConnectedUntilItsLastConnectionCloses() {
        self.connections.add(self.id(1), session: 7, scope: .everything)
        self.connections.add(self.id(2), session: 7, scope: .everything)
        #expect(self.connections.remove(self.id(1)) != nil)
        #expect(self.connections.isConnected(session: 7))
        #expect(self.connections.remove(self.id(2)) != nil)
        #expect(!self.connections.isConnected(session: 7))
        #expect(self.connections.remove(self.id(2)) == nil)
    }

    @Test func addedAndRemovedConnectionsAreReportedToTheStandby() {
        self.connections.add(self.id(1), session: 7, scope: .everything)
        #expect(self.connections.changed.take() == [self.id(1)])
        #expect(self.connections.changed.take().isEmpty)
        _ = self.connections.remove(self.id(1))
        #expect(self.connections.changed.take() == [self.id(1)])
    }
}
