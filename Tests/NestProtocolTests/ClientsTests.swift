import NIOCore
import NestModel
import NestProtocol
import Testing
import NestFraming

@Suite struct ClientsTests {
    /// Under TLS a blocked connection may hold more encrypted bytes than were written to it. The difference must not be
    /// sent as a negative number.
    @Test func negativeByteCountsAreSentAsZero() throws {
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
