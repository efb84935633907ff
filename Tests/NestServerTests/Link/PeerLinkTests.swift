import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestServer

extension SocketTests {
    struct PeerLinkTests {
        /// A link, and what its engine and its driver got.
        fileprivate final class World: Sendable {
            struct State {
                var events: [String] = []
                var records: [Int64] = []
                var states: [LinkState] = []
            }

            let link: PeerLink
            let state: NIOLockedValueBox<State>

            init(tls: PeerTLS? = nil, sendsSecretInClear: Bool = false) {
                let state = NIOLockedValueBox(State())
                self.state = state
                self.link = PeerLink(
                    PeerLink.Environment(
                        node: LogNode(id: Identifier128(high: 3, low: 3), name: "b", address: "", version: ""),
                        historyID: FakeLeader.history,
                        modelHash: 0,
                        tls: tls,
                        sendsSecretInClear: sendsSecretInClear,
                        files: NIOThreadPool.singleton,
                        journal: ReplicaJournal(Logger(label: "tests"), ReplicaMetrics()),
                        submit: { inputs in state.withLockedValue { $0.take(inputs) } },
                        note: { link in state.withLockedValue { $0.states.append(link) } }
                    ),
                    at: LogPosition(position: 10, chain: .empty),
                    on: MultiThreadedEventLoopGroup.singleton.next()
                )
            }

            func waits(until text: String, _ condition: @Sendable (State) -> Bool) async throws {
                _ = try await waitFor(text) { condition(self.state.withLockedValue { $0 }) ? true : nil }
            }
        }

        private func leader(_ port: Int, host: String = "127.0.0.1") -> FollowedLeader {
            FollowedLeader(
                node: Identifier128(high: 2, low: 2),
                name: "a",
                address: "\(host):\(port)",
                epoch: FakeLeader.epoch,
                secret: TokenSecret(high: Identifier128(high: 7, low: 7), low: Identifier128(high: 8, low: 8))
            )
        }

        /// Records and replies reach the engine; when the connection is lost, the engine hears it once, and the link
        /// comes back and asks for what follows.
        @Test func aLinkCarriesRecordsAndRequestsAndComesBack() async throws {
            let leader = try await FakeLeader()
            let world = World()
            world.link.follow(self.leader(leader.port))
            try await world.waits(until: "the link") { $0.events == ["up 3"] }
            try leader.stream(Record(position: 11, chain: Identifier128(high: 1, low: 1), bytes: [1]))
            try await world.waits(until: "the record") { $0.records == [11] }
            let state = LogState(
                store: 1,
                position: LogPosition(position: 11, chain: Chain(Identifier128(high: 1, low: 1))),
                writer: LogRecord.Writer(node: Identifier128(high: 2, low: 2), epoch: 3)
            )
            world.link.take(.applied(state))

            let client = ConnectionID(1)
            let open = ForwardEffect.open(client, session: Identifier128(high: 5, low: 5), token: nil, user: nil)
            world.link.send([open, .request(client, ForwardedRequest(number: 1, request: .endGroup))])
            try await world.waits(until: "the reply") { $0.events.last == "answer 1" }

            leader.breakAll()
            try await world.waits(until: "the link again") { $0.events == ["up 3", "answer 1", "down", "up 3"] }
            let again = ForwardedRequest(number: 2, request: .undo(key: nil), isAgain: true)
            world.link.send([open, .request(client, again)])
            try await world.waits(until: "the second reply") { $0.events.last == "answer 2" }
            let (follows, requests) = leader.state.withLockedValue { ($0.follows, $0.requests) }
            #expect(follows.map(\.position) == [10, 11])
            #expect(follows.last?.chain == Identifier128(high: 1, low: 1))
            #expect(requests.map(\.isAgain) == [false, true])
            #expect(
                world.state.withLockedValue { $0.states.contains(.streaming(head: 11)) && $0.states.contains(.down) }
            )

            // The node leads itself.
            world.link.follow(nil)
            try await world.waits(until: "the end") { $0.events.last == "down" }
            #expect(world.state.withLockedValue { $0.states.last } == .down)
            await world.link.stop()
            try await leader.close()
        }

        /// A leader that starts later, and one that is named later, are found.
        @Test func aLinkTriesUntilTheLeaderIsThere() async throws {
            let port = try await unusedPort()
            let world = World()
            world.link.follow(self.leader(port))
            world.link.send([.close(ConnectionID(1))])
            let late = try await FakeLeader(port: port)
            try await world.waits(until: "the late leader") { $0.events == ["up 3"] }
            let other = try await FakeLeader()
            world.link.follow(self.leader(other.port))
            try await world.waits(until: "the other leader") { $0.events == ["up 3", "down", "up 3"] }
            await world.link.stop()
            try await late.close()
            try await other.close()
        }

        /// The link gives its secret only to a node whose certificate the authority has signed for that host.
        @Test func aLinkVerifiesTheNameOfTheLeader() async throws {
            let directory = TemporaryDirectory()
            let authority = try TestAuthority("authority", in: directory)
            let other = try TestAuthority("other", in: directory)
            func tls(_ authority: TestAuthority, _ name: String, host: String) throws -> PeerTLS {
                let identity = try authority.identity(name, host: host)
                let files = ServerTLS.Files(certificate: identity.certificateFile, key: identity.keyFile)
                return try PeerTLS(files, authority: authority.file)
            }
            let identity = try authority.identity("leader", host: "localhost")
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificateFile).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.keyFile, format: .pem))
            )
            configuration.applicationProtocols = [ServerTLS.applicationProtocol]
            let leader = try await FakeLeader(tls: try NIOSSLContext(configuration: configuration))
            let trusted = try tls(authority, "b", host: "b")
            for (tls, host) in [(try tls(other, "c", host: "c"), "localhost"), (trusted, "127.0.0.1")] {
                let before = leader.state.withLockedValue { $0.channels.count }
                let world = World(tls: tls)
                world.link.follow(self.leader(leader.port, host: host))
                _ = try await waitFor("three attempts") {
                    leader.state.withLockedValue { $0.channels.count } >= before + 3 ? true : nil
                }
                await world.link.stop()
                #expect(leader.state.withLockedValue { $0.hello } == nil)
            }
            let world = World(tls: trusted)
            world.link.follow(self.leader(leader.port, host: "localhost"))
            try await world.waits(until: "the link") { $0.events == ["up 3"] }
            await world.link.stop()
            try await leader.close()
        }

        /// A stranger who reads the secret on the way has every right in the cluster.
        @Test func aLinkSendsItsSecretToAnotherMachineOnlyByTLSOrIfTheOperatorAllowsIt() async throws {
            // By an address of this machine that others can reach.
            let addresses = try System.enumerateDevices().compactMap { $0.address?.ipAddress }
            guard let host = addresses.first(where: { !Loopback.contains($0) && !$0.contains(":") }) else {
                print("SKIPPED: this machine has no address but the loopback")
                return
            }
            let leader = try await FakeLeader(host: host)
            let world = World()
            world.link.follow(self.leader(leader.port, host: host))
            _ = try await waitFor("three attempts") {
                leader.state.withLockedValue { $0.channels.count } >= 3 ? true : nil
            }
            await world.link.stop()
            #expect(leader.state.withLockedValue { $0.hello } == nil)
            let careless = World(sendsSecretInClear: true)
            careless.link.follow(self.leader(leader.port, host: host))
            try await careless.waits(until: "the link") { $0.events == ["up 3"] }
            await careless.link.stop()
            try await leader.close()
        }
    }
}

extension SocketTests.PeerLinkTests.World.State {
    fileprivate mutating func take(_ inputs: [LogInput]) {
        for input in inputs {
            switch input {
            case .entries(let entries): self.records += entries.map(\.position.position)
            case .link(.up(let epoch, _)): self.events.append("up \(epoch)")
            case .link(.down): self.events.append("down")
            case .link(.presence(let message)): self.events.append("presence of \(message.changes.count)")
            case .link(.answer(let number, _)): self.events.append("answer \(number)")
            default: self.events.append("another input")
            }
        }
    }
}
