import Foundation
import NIOCore
import NIOSSL
import NestClient
import NestModel
import NestServerTestSupport
import NestSecrets
import NestServer
import NestStore
import NestTestSupport
import NestProtocol
import Testing

/// TLS keeps traffic private, authenticates both sides and refuses weaker settings.
extension SocketTests {
    struct TLS {
        private let directory = TemporaryDirectory()
        private let authority: TestAuthority
        private let other: TestAuthority

        init() throws {
            self.authority = try TestAuthority("authority", in: self.directory)
            self.other = try TestAuthority("other", in: self.directory)
        }

        private func files(_ identity: TestAuthority.Identity, clients: TestAuthority? = nil) -> ServerTLS.Files {
            ServerTLS.Files(
                certificate: identity.certificateFile,
                key: identity.keyFile,
                clientAuthority: clients?.file
            )
        }

        private func client(_ port: Int, host: String = "localhost", _ tls: ClientTLS?) -> ClientConfiguration {
            var configuration = ClientConfiguration(host: host, port: port, session: .fresh)
            configuration.tls = tls
            return configuration
        }

        private func trusting(_ authority: TestAuthority) -> ClientTLS { ClientTLS(authorityFile: authority.file) }

        private func ping(_ configuration: ClientConfiguration) async -> NestError? {
            await refusal { try await NestClient.withClient(configuration) { _ = try await $0.ping() } }
        }

        @Test func clientsThatTrustTheAuthorityAreServed() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server")))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                try await NestClient.withClient(self.client(port, self.trusting(self.authority))) { client in
                    // Large requests and replies work too.
                    let titles = (0..<400).map { "\($0) " + String(repeating: "x", count: 1_000) }
                    for part in 0..<4 {
                        _ = try await client.transaction(
                            WriteTransaction(
                                mutations: titles[part * 100..<part * 100 + 100].flatMap {
                                    WriteTransaction.insert($0).mutations
                                }
                            )
                        )
                    }
                    let snapshot = try await client.fetch(.rootChildren)
                    #expect(snapshot.sections[0].rows.map { $0.values[0].stringValue } == titles)
                }
            }
        }

        /// The error reaches the client also over TLS, where closing has its own message.
        @Test func aClientWithoutATokenIsRefusedWithAReason() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server")))
            try await withServer {
                $0.tls = tls
                $0.authentication = .required
            } _: { port, _ in
                var configuration = self.client(port, self.trusting(self.authority))
                #expect(await self.ping(configuration)?.code == .unauthenticated)
                configuration.token = AccessToken(number: 1, secret: .random())
                #expect(await self.ping(configuration)?.code == .unauthenticated)
            }
        }

        @Test func certificatesMayNameAnAddress() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server", host: "127.0.0.1")))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                #expect(await self.ping(self.client(port, host: "127.0.0.1", self.trusting(self.authority))) == nil)
                #expect(await self.ping(self.client(port, self.trusting(self.authority)))?.code == .untrusted)
            }
        }

        /// With another authority, another name or a certificate that is not valid yet, the client sends nothing, not
        /// even its token.
        @Test func serversWithoutATrustedCertificateAreRefused() async throws {
            let good = try ServerTLS(self.files(try self.authority.identity("server")))
            try await withServer {
                $0.tls = good
            } _: { port, _ in
                #expect(await self.ping(self.client(port, self.trusting(self.other)))?.code == .untrusted)
                #expect(await self.ping(self.client(port, ClientTLS()))?.code == .untrusted)
                let named = ClientTLS(authorityFile: self.authority.file, serverName: "nest.example.org")
                #expect(await self.ping(self.client(port, named))?.code == .untrusted)
            }
            let early = try self.authority.identity("early", validIn: 3_600...7_200)
            let tls = try ServerTLS(self.files(early))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                #expect(await self.ping(self.client(port, self.trusting(self.authority)))?.code == .untrusted)
            }
        }

        @Test func olderTLSVersionsAreRefused() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server")))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.trustRoots = .file(self.authority.file)
                configuration.applicationProtocols = ["nest/1"]
                let good = try await TLSProbe.run(port: port, configuration, awaiting: Preface.byteCount)
                #expect(good.bytes.prefix(4) == [0x4e, 0x45, 0x53, 0x54])

                var older = configuration
                older.maximumTLSVersion = .tlsv12
                let downgraded = try await TLSProbe.run(port: port, older)
                #expect(downgraded.error != nil && downgraded.bytes == [])

                for protocols in [[], ["h2"], ["http/1.1", "nest/0"]] {
                    var unnamed = configuration
                    unnamed.applicationProtocols = protocols
                    #expect(try await TLSProbe.run(port: port, unnamed).bytes == [], "\(protocols)")
                }

                // Bytes that are not TLS get at most an alert and no nest frame.
                let plain = try ServerRawConnection(port: port)
                try plain.send(Preface.client.bytes)
                try plain.send(ServerRawConnection.hello())
                #expect(try plain.bytesUntilClosed() < 16)
                #expect(await self.ping(self.client(port, nil)) != nil)
            }
        }

        @Test func aClientNeverFallsBack() async throws {
            try await withServer { port, _ in
                let error = await self.ping(self.client(port, self.trusting(self.authority)))
                #expect(error?.code == .unreachable)
            }
        }

        @Test func clientCertificatesCanBeRequired() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server"), clients: self.other))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                #expect(await self.ping(self.client(port, self.trusting(self.authority))) != nil)
                var tls = self.trusting(self.authority)
                for (authority, isGood) in [(self.authority, false), (self.other, true)] {
                    let identity = try authority.identity("client", host: nil)
                    tls.certificateFile = identity.certificateFile
                    tls.keyFile = identity.keyFile
                    #expect((await self.ping(self.client(port, tls)) == nil) == isGood)
                }
            }
        }

        @Test func certificatesAreReloaded() async throws {
            let log = LogCapture()
            let identity = try self.authority.identity("server")
            var configuration = ServerConfiguration(
                host: "127.0.0.1",
                port: 0,
                store: Store.Configuration(location: .memory, model: .nestedList),
                serverName: "test"
            )
            configuration.tls = try ServerTLS(self.files(identity))
            let server = Server(configuration, logger: log.logger)
            let port = try await server.start().port
            try await NestClient.withClient(self.client(port, self.trusting(self.authority))) { early in
                // The key belongs to another certificate: the server keeps the old pair.
                let wrong = try self.other.identity("wrong")
                try Self.copy(wrong.keyFile, identity.keyFile)
                (try? server.preparedCertificates())?()
                #expect(log.text.contains("tls.kept"))
                #expect(await self.ping(self.client(port, self.trusting(self.authority))) == nil)
                // Both files match: the server loads the new pair.
                try Self.copy(wrong.certificateFile, identity.certificateFile)
                (try? server.preparedCertificates())?()
                #expect(log.text.contains("tls.reloaded"))
                #expect(await self.ping(self.client(port, self.trusting(self.authority)))?.code == .untrusted)
                #expect(await self.ping(self.client(port, self.trusting(self.other))) == nil)
                // An expired certificate, and then a missing file.
                let old = try self.other.identity("old", validIn: -7_200 ... -3_600)
                try Self.copy(old.certificateFile, identity.certificateFile)
                try Self.copy(old.keyFile, identity.keyFile)
                (try? server.preparedCertificates())?()
                try FileManager.default.removeItem(atPath: identity.certificateFile)
                (try? server.preparedCertificates())?()
                #expect(await self.ping(self.client(port, self.trusting(self.other))) == nil)
                // An existing connection stays open.
                _ = try await early.ping()
            }
            try await server.stop()
        }

        private static func copy(_ from: String, _ to: String) throws {
            try Data(contentsOf: URL(filePath: from)).write(to: URL(filePath: to))
        }

        @Test func unusableCertificatesAreReportedAtStart() throws {
            let identity = try self.authority.identity("server")
            let another = try self.authority.identity("another")
            let old = try self.authority.identity("old", validIn: -7_200 ... -3_600)
            let crossed = ServerTLS.Files(certificate: identity.certificateFile, key: another.keyFile)
            for files in [crossed, self.files(old), ServerTLS.Files(certificate: "/nowhere", key: identity.keyFile)] {
                #expect(throws: ServerTLS.Failure.self) { try ServerTLS(files) }
            }
        }

        // MARK: Reasons

        private func reason(_ configuration: ClientConfiguration) async -> ConnectFault.Reason? {
            let error = await self.ping(configuration)
            let fault = error?.connectFault
            if let fault {
                #expect(fault.host == configuration.host && fault.port == configuration.port)
                #expect(error?.message.isEmpty == false)
            }
            return fault?.reason
        }

        /// A program gets the reason as a value, not only as words.
        @Test func theErrorContainsTheReason() async throws {
            let identity = try self.authority.identity("server", host: "nest.lab")
            let tls = try ServerTLS(self.files(identity))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                let trusting = self.trusting(self.authority)
                #expect(
                    await self.reason(self.client(port, trusting))
                        == .anotherName(expected: "localhost", names: ["nest.lab"])
                )
                #expect(
                    await self.reason(self.client(port, host: "127.0.0.1", trusting))
                        == .anotherName(expected: "127.0.0.1", names: ["nest.lab"])
                )
                var named = self.trusting(self.other)
                named.serverName = "nest.lab"
                #expect(
                    await self.reason(self.client(port, named)) == .unknownAuthority(isSelfSigned: false)
                )
                #expect(
                    await self.reason(self.client(port, ClientTLS(serverName: "nest.lab")))
                        == .unknownAuthority(isSelfSigned: false)
                )
                #expect(await self.reason(self.client(port, nil)) == .tlsServer)
                for file in ["/nowhere", identity.keyFile] {
                    let tls = ClientTLS(authorityFile: file)
                    let expected: ConnectFault.Reason =
                        file == "/nowhere" ? .missingFile(file) : .noCertificate(inFile: file)
                    #expect(await self.reason(self.client(port, tls)) == expected)
                }
                let folder = ClientTLS(authorityFile: self.directory.path)
                guard case .unreadableFile = await self.reason(self.client(port, folder)) else {
                    Issue.record("a directory is no file")
                    return
                }
                var mine = trusting
                mine.certificateFile = identity.certificateFile
                mine.keyFile = identity.certificateFile
                #expect(
                    await self.reason(self.client(port, mine)) == .noPrivateKey(inFile: identity.certificateFile)
                )
                mine.keyFile = try self.other.identity("another").keyFile
                #expect(
                    await self.reason(self.client(port, mine)) == .wrongPrivateKey(inFile: mine.keyFile ?? "")
                )
            }
            try await withServer { port, _ in
                #expect(await self.reason(self.client(port, self.trusting(self.authority))) == .plainServer)
            }
            let gone = try await unusedPort()
            #expect(await self.reason(self.client(gone, host: "127.0.0.1", nil)) == .refused)
            #expect(await self.reason(self.client(gone, host: "no.such.host.invalid", nil)) == .unknownHost)
        }

        /// nestd does not start with an expired certificate, but it may expire later.
        @Test func certificatesOutOfTheirTimeAreNamedInTheError() async throws {
            for (name, seconds) in [("early", 3_600...7_200), ("old", -7_200 ... -3_600)] {
                let identity = try self.authority.identity(name, validIn: seconds)
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificateFile).map {
                        .certificate($0)
                    },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.keyFile, format: .pem))
                )
                configuration.applicationProtocols = [ServerTLS.applicationProtocol]
                let server = try await StrangeServer(.nothing, tls: NIOSSLContext(configuration: configuration))
                switch await self.reason(self.client(server.port, self.trusting(self.authority))) {
                case .notYetValid: #expect(name == "early")
                case .expired: #expect(name == "old")
                case let other: Issue.record("the reason is \(String(describing: other))")
                }
                try await server.close()
            }
        }

        /// A certificate that signs itself, as tools make it by default.
        @Test func aSelfSignedCertificateIsNamedInTheError() async throws {
            let files = ServerTLS.Files(certificate: self.authority.file, key: self.authority.keyFile)
            let tls = try ServerTLS(files)
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                let reason = await self.reason(self.client(port, self.trusting(self.other)))
                #expect(reason == .unknownAuthority(isSelfSigned: true))
            }
        }

        @Test func theErrorSaysWhichClientCertificateIsNeeded() async throws {
            let tls = try ServerTLS(self.files(try self.authority.identity("server"), clients: self.other))
            try await withServer {
                $0.tls = tls
            } _: { port, _ in
                var tls = self.trusting(self.authority)
                #expect(await self.reason(self.client(port, tls)) == .clientCertificateRequired)
                let identity = try self.authority.identity("client", host: nil)
                tls.certificateFile = identity.certificateFile
                tls.keyFile = identity.keyFile
                #expect(await self.reason(self.client(port, tls)) == .clientCertificateRefused)
            }
        }

        /// What answers is another program: one that says something else, nothing, or closes.
        @Test func otherProgramsAreNamedInTheError() async throws {
            let answers: [(StrangeServer.Answer, ConnectFault.Reason, ConnectFault.Reason)] = [
                (.text("HTTP/1.1 400 Bad Request\r\n\r\n"), .notNest, .plainServer), (.nothing, .silent, .silent),
                (.end, .closedEarly, .plainServer),
                // An alert of TLS: no common version.
                (.text("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{46}"), .tlsServer, .tlsVersion),
            ]
            for (answer, plain, withTLS) in answers {
                let server = try await StrangeServer(answer)
                var configuration = self.client(server.port, host: "127.0.0.1", nil)
                configuration.connectTimeout = .milliseconds(500)
                #expect(await self.reason(configuration) == plain, "\(answer)")
                configuration.tls = self.trusting(self.authority)
                #expect(await self.reason(configuration) == withTLS, "\(answer)")
                try await server.close()
            }
        }
    }
}
