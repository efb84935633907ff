import Foundation
import NIOCore
import NIOSSL
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Which requests the web port refuses, and how long it keeps connections.
    struct WebPortTests {
        private static func status(_ request: String, _ port: Int) throws -> Int {
            let connection = try ServerRawConnection(port: port)
            try connection.sendRaw(Array(request.utf8))
            // The answer to HEAD has no body, whatever length its head states.
            guard request.hasPrefix("HEAD") else { return try connection.httpAnswer().status }
            return Int(try connection.httpHead().split(separator: " ")[1]) ?? 0
        }

        @Test func requestsForAWebSocketThatAreNotCompleteAreRefused() async throws {
            let refused: [([String: String], Int)] = [
                (["Upgrade": ""], 426), (["Connection": "keep-alive"], 426), (["Upgrade": "h2c"], 426),
                (["Sec-WebSocket-Version": "8"], 426), (["Sec-WebSocket-Version": ""], 426),
                (["Sec-WebSocket-Protocol": ""], 400), (["Sec-WebSocket-Protocol": "nest.2"], 400),
                (["Sec-WebSocket-Key": ""], 400), (["Sec-WebSocket-Key": "c2hvcnQ="], 400),
                (["Sec-WebSocket-Key": RawWebSocket.key + ", a"], 400), (["Host": "evil.example"], 421),
                (["Host": ""], 400), (["Origin": "null"], 403), (["Origin": "http://evil.example"], 403),
                (["Content-Length": "5"], 400), (["Transfer-Encoding": "chunked"], 400),
            ]
            try await withWebServer { port, webPort, _ in
                for (fields, status) in refused {
                    #expect(try Self.status(RawWebSocket.request(fields), webPort) == status, "\(fields)")
                }
                #expect(try Self.status(RawWebSocket.request(line: "POST /nest HTTP/1.1"), webPort) == 405)
                #expect(try Self.status(RawWebSocket.request(line: "HEAD /nest HTTP/1.1"), webPort) == 405)
                #expect(try Self.status(RawWebSocket.request(line: "GET /nest HTTP/1.0"), webPort) == 405)
                #expect(try Self.status(RawWebSocket.request(line: "GET /nest HTTP/3.0"), webPort) == 505)
                #expect(try Self.status(RawWebSocket.request(line: "GET /none HTTP/1.1"), webPort) == 404)
                #expect(try Self.status(RawWebSocket.request(["Origin": "http://localhost"]), webPort) == 101)
                let allowed = ["Connection": "keep-alive, UPGRADE", "Upgrade": "h2c, WebSocket"]
                #expect(try Self.status(RawWebSocket.request(allowed), webPort) == 101)
                let (connection, _) = try ServerRawConnection.ready(port: port)
                // The event loops report their counts now and then.
                try await connection.wait(for: "web_refused") { $0 == UInt64(refused.count + 4) }
            }
        }

        /// A tab makes the option unreadable for some parsers: the request is refused, and so is what follows it.
        @Test func fieldsWithOtherCharactersAreNoUpgrade() async throws {
            try await withWebServer { _, port, _ in
                for field in ["Connection", "Upgrade"] {
                    for value in ["upgrade\t", "upgrade\tx", "websocket\t, upgrade", "websocket\u{b}"] {
                        let connection = try ServerRawConnection(port: port)
                        let request = RawWebSocket.request([field: value + ", a"])
                        try connection.sendRaw(Array((request + "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").utf8))
                        #expect(try connection.httpAnswer().status == 400, "\(field): \(value.debugDescription)")
                        #expect(try connection.bytesUntilClosed() == 0)
                    }
                    // A tab around the whole value is not part of it.
                    let request = RawWebSocket.request([field: field == "Upgrade" ? "websocket\t" : "\tupgrade"])
                    let connection = try ServerRawConnection(port: port)
                    try connection.sendRaw(Array((request + "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").utf8))
                    #expect(try connection.httpHead().hasPrefix("HTTP/1.1 101 "))
                }
                let (connection, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                _ = try connection.statistic("requests")
            }
        }

        /// The server does not take an offer of another protocol. It answers the request, and that is the last one: the
        /// decoder reads no other.
        @Test func anOfferOfHTTP2IsNotTaken() async throws {
            try await withWebServer { _, port, _ in
                let connection = try ServerRawConnection(port: port)
                let request =
                    "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n"
                    + "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
                try connection.sendRaw(Array((request + request).utf8))
                let answer = try connection.httpAnswer()
                #expect(answer.status == 200 && answer.head.contains("\r\nConnection: close\r\n"))
                #expect(try connection.bytesUntilClosed() == 0)
            }
        }

        @Test func requestsThatDoNotArriveAreRefused() async throws {
            try await withWebServer {
                $0.timing.handshake = .milliseconds(200)
            } _: { _, port, _ in
                for part in ["", "G", "GET / HTTP/1.1\r\nHost: localhost\r\n"] {
                    let connection = try ServerRawConnection(port: port)
                    try connection.sendRaw(Array(part.utf8))
                    #expect(try connection.httpAnswer().status == 408, "\(part)")
                    #expect(try connection.bytesUntilClosed() == 0)
                }
                // The second request of a connection has the same time, from its first byte.
                let connection = try ServerRawConnection(port: port)
                try connection.sendRaw(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                #expect(try connection.httpAnswer().status == 200)
                try connection.sendRaw(Array("GET".utf8))
                #expect(try connection.httpAnswer().status == 408)
            }
        }

        @Test func anIdleConnectionOfTheWebPortIsClosed() async throws {
            try await withWebServer {
                $0.timing.webIdle = .milliseconds(100)
            } _: { _, port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.sendRaw(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                #expect(try connection.httpAnswer().status == 200)
                #expect(try connection.bytesUntilClosed() == 0)
            }
        }

        /// A client that does not read its answer holds nothing for ever.
        @Test func aReaderOfAFileThatStallsIsClosed() async throws {
            let directory = TemporaryDirectory()
            try Data(repeating: 7, count: 4 << 20).write(to: URL(filePath: "\(directory.path)/large"))
            try await withWebServer(
                {
                    $0.timing.outputStall = .milliseconds(200)
                    $0.socketSendBytes = 16 << 10
                },
                root: directory.path
            ) { port, webPort, _ in
                let slow = try ServerRawConnection(port: webPort, receiveBytes: 8 << 10)
                try slow.sendRaw(Array("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                #expect(try slow.httpHead().hasPrefix("HTTP/1.1 200 "))
                let (other, _) = try ServerRawConnection.ready(port: port)
                // The only slot that is left is that of the other connection.
                try await other.wait(for: "connections") { $0 == 1 }
                #expect(try slow.bytesUntilClosed() < 4 << 20)
            }
        }

        /// Connections that ask for files are no rejected logins; connections that are refused are.
        @Test func onlyRefusedConnectionsCountAsRejected() async throws {
            try await withWebServer { port, webPort, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                for target in ["/", "/none"] {
                    let request = "GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                    for _ in 0..<5 { #expect(try [200, 404].contains(Self.status(request, webPort))) }
                }
                try await connection.wait(for: "connections") { $0 == 1 }
                #expect(try connection.statistic("connections_rejected_total") == 0)
                #expect(try Self.status("GET / HTTP/1.1\r\nHost: evil\r\n\r\n", webPort) == 421)
                try await connection.wait(for: "connections_rejected_total") { $0 == 1 }
                #expect(try connection.statistic("web_requests") == 11)
            }
        }

        /// Both ports share the slots. A connection that only asks for files yields its slot to a client.
        @Test func bothPortsShareTheSlots() async throws {
            try await withWebServer {
                $0.connectionsMax = 1
                $0.eventLoopCount = 1
            } _: { port, webPort, _ in
                let idle = try ServerRawConnection(port: webPort)
                try idle.sendRaw(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                #expect(try idle.httpAnswer().status == 200)
                let (client, _) = try ServerRawConnection.ready(port: port)
                #expect(try idle.bytesUntilClosed() == 0)
                let refused = try ServerRawConnection(port: webPort)
                let answer = try refused.httpAnswer()
                #expect(answer.status == 503 && answer.head.contains("\r\nRetry-After: 1\r\n"))
                _ = try client.statistic("requests")
            }
        }

        @Test func theWebPortUsesTheSameCertificate() async throws {
            let directory = TemporaryDirectory()
            let authority = try TestAuthority("authority", in: directory)
            let identity = try authority.identity("server")
            let tls = try ServerTLS(
                ServerTLS.Files(certificate: identity.certificateFile, key: identity.keyFile)
            )
            try await withWebServer {
                $0.tls = tls
                $0.timing.handshake = .seconds(2)
            } _: { port, webPort, _ in
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.trustRoots = .file(authority.file)
                // The probe's first bytes are the preface, which is no request of HTTP.
                for names in [["http/1.1"], ["h2", "http/1.1"], []] {
                    configuration.applicationProtocols = names
                    let outcome = try await TLSProbe.run(port: webPort, configuration, awaiting: 12)
                    let bytes = String(decoding: outcome.bytes.prefix(12), as: UTF8.self)
                    #expect(["HTTP/1.1 400", "HTTP/1.1 408"].contains(bytes), "\(names): \(bytes)")
                }
                configuration.applicationProtocols = ["http/1.1"]
                #expect(try await TLSProbe.run(port: port, configuration).bytes.isEmpty)
            }
        }
    }
}
