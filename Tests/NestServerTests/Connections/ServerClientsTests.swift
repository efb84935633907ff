import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Listing and kicking clients over a real socket.
    struct Operating {
        @Test func clientsAreListedInPagesInNumberOrder() async throws {
            try await withServer { port, _ in
                let connections = try (1...5).map { try ServerRawConnection.ready(port: port, session: $0) }
                let asking = connections[2].0
                var numbers: [UInt64] = []
                var sessions: [UInt64] = []
                while true {
                    let id = try asking.request(GetClients(after: numbers.last ?? 0, limit: 2))
                    let page = try asking.expect(Clients.self, id: id).clients
                    #expect(page.count <= 2)
                    numbers += page.map(\.number)
                    sessions += page.map(\.sessionNumber)
                    if page.count < 2 { break }
                }
                #expect(numbers.count == 5 && numbers == numbers.sorted())
                #expect(sessions.sorted() == connections.map(\.1.sessionNumber).sorted())
            }
        }

        /// Replacing unprintable characters can make a name too long. It is cut, so that the list of clients stays
        /// valid.
        @Test func longClientNamesAreCut() async throws {
            try await withServer { port, _ in
                let odd = try ServerRawConnection(port: port)
                try odd.send(Preface.client.bytes)
                let name = String(repeating: "\u{1}", count: Limits.nameBytesMax)
                try odd.send(Hello(clientName: name, session: Identifier128(high: 1, low: 9)).frame(id: 0))
                #expect(try odd.preface() == [1, 1, 1, 0])
                _ = try odd.expect(Welcome.self, id: 0)
                let id = try odd.request(GetClients(after: 0, limit: 10))
                let client = try #require(try odd.expect(Clients.self, id: id).clients.first)
                #expect(client.name == String(repeating: "\u{fffd}", count: Limits.nameBytesMax / 3))
                #expect(client.requestsInFlight == 1 && client.subscriptions == 0)
            }
        }

        @Test func kickedClientsGetTheReason() async throws {
            try await withServer { port, _ in
                let (operating, _) = try ServerRawConnection.ready(port: port)
                let (other, welcome) = try ServerRawConnection.ready(port: port, session: 2)
                let subscription = try other.request(Subscribe(.rootChildren))
                _ = try other.expect(Subscribed.self, id: subscription)

                let list = try operating.request(GetClients(after: 0, limit: 10))
                let clients = try operating.expect(Clients.self, id: list).clients
                let kicked = try #require(clients.first { $0.sessionNumber == welcome.sessionNumber })
                #expect(kicked.subscriptions == 1)
                let own = try #require(clients.first { $0.sessionNumber != welcome.sessionNumber })

                let kick = try operating.request(Kick(number: kicked.number))
                _ = try operating.expect(Done.self, id: kick)
                let goAway = try #require(try other.frames(until: .goAway).last)
                #expect(try GoAway(body: goAway.body).code == .shuttingDown)

                for (number, code) in [(kicked.number, ErrorCode.notFound), (4_711, .notFound), (own.number, .invalid)]
                {
                    let id = try operating.request(Kick(number: number))
                    #expect(try operating.expect(ErrorMessage.self, id: id).error.code == code)
                }
            }
        }
    }
}
