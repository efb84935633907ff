import NIOCore
import NestModel
import NestProtocol
import Testing
import NestFraming

@Suite struct ClientsTests {
    /// Under TLS a connection that takes little holds back more bytes, encrypted, than were written to it.
    @Test func sentBytesAreNeverNegative() throws {
        let client = ConnectedClient(
            number: 7,
            address: "[::1]:9",
            name: "slow",
            sessionNumber: 3,
            connectedAt: -1,
            subscriptions: 0,
            requests: 10_000,
            requestsInFlight: 0,
            bytesIn: 200_000,
            bytesOut: -22_000,
            bytesQueued: 500_000
        )
        let read = try Clients(body: ByteBuffer(bytes: Clients([client]).body))
        #expect(read.clients.map(\.bytesOut) == [0])
        #expect(read.clients.map(\.bytesQueued) == [500_000])
    }
}
