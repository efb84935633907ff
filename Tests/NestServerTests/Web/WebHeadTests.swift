import NIOCore
import NIOHTTP1
import NestModel
import NestProtocol
import NestServer
import Testing

/// The heads of requests to the web port, and the fields in them.
struct WebHeadTests {
    private static func status(_ text: String) -> Int? {
        do {
            _ = try HeadReader.read(text)
            return nil
        } catch {
            return (error as? WebRefusal)?.status.rawValue
        }
    }

    @Test func aHeadIsTakenFromTheBytesThatArrived() throws {
        let first = "GET /a?b HTTP/1.1\r\nHost: localhost\r\nX:  two words \t\r\n\r\n"
        var buffer = ByteBuffer()
        try HeadReader.with { reader in
            for byte in first.utf8.dropLast() {
                buffer.writeInteger(byte)
                #expect(try reader.next(from: &buffer) == nil)
            }
            buffer.writeString("\nGET ")
            let head = try #require(try reader.next(from: &buffer))
            #expect(head.method == .GET && head.uri == "/a?b" && head.version == .http1_1)
            #expect(head.values("host") == ["localhost"] && head.values("X") == ["two words"])
            #expect(String(buffer: buffer) == "GET ")
        }
    }

    @Test(arguments: [
        ("GET a HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1 \r\n\r\n", 505), ("FETCH / HTTP/1.1\r\n\r\n", 400),
        ("GET http://localhost/ HTTP/1.1\r\n\r\n", 400), ("G(T / HTTP/1.1\r\n\r\n", 400), ("GET /\r\n\r\n", 505),
        ("GET /\u{e9} HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505), ("GET / RTSP/1.0\r\n\r\n", 505),
        ("SOURCE / ICE/1.0\r\n\r\n", 505), ("GET / http/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
        ("CONNECT localhost:80 HTTP/1.1\r\n\r\n", 400), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\n: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nA: \u{1}\r\n\r\n", 400), ("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nContent-Length: 0, 5\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nContent-Length: +0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
    ])
    func headsThatAProxyCouldReadInAnotherWayAreRefused(_ text: String, _ status: Int) {
        #expect(Self.status(text) == status, "\(text.debugDescription)")
    }

    /// Spaces and lines that mean nothing are skipped, and count.
    @Test func spacesAndOneEmptyLineBeforeARequestAreSkipped() throws {
        #expect(try HeadReader.read("GET   / HTTP/1.1\r\n\r\n")?.uri == "/")
        #expect(try HeadReader.read("\r\nGET / HTTP/1.1\r\n\r\n")?.uri == "/")
        #expect(try HeadReader.read("\r\n") == nil)
        #expect(Self.status("\r\n\r\nGET / HTTP/1.1\r\n\r\n") == 400)
        #expect(Self.status("GET " + String(repeating: " ", count: Limits.webHeadBytesMax)) == 431)
        #expect(Self.status("GET / HTTP/1.1\r\nA:" + String(repeating: " ", count: Limits.webHeadBytesMax)) == 431)
    }

    /// A head of the maximum size is accepted, and the next byte is too much, even before the head is complete.
    @Test func headsAreLimited() throws {
        let frame = "GET / HTTP/1.1\r\nA: \r\n\r\n"
        let padding = String(repeating: "a", count: Limits.webHeadBytesMax - frame.utf8.count)
        #expect(try HeadReader.read("GET / HTTP/1.1\r\nA: \(padding)\r\n\r\n") != nil)
        #expect(Self.status("GET / HTTP/1.1\r\nA: \(padding)a\r\n\r\n") == 431)
        #expect(Self.status("GET /" + String(repeating: "a", count: Limits.webHeadBytesMax)) == 431)
        #expect(Self.status(String(repeating: "a", count: Limits.webHeadBytesMax)) == 400)
        let fields = String(repeating: "a:\r\n", count: Limits.webFieldsMax)
        #expect(try HeadReader.read("GET / HTTP/1.1\r\n\(fields)\r\n") != nil)
        #expect(Self.status("GET / HTTP/1.1\r\n\(fields)a:\r\n\r\n") == 431)
    }

    @Test func listsHaveOnlyNamesCommasAndSpaces() throws {
        func tokens(_ value: String) throws -> [String]? {
            try HeadReader.read("GET / HTTP/1.1\r\nConnection: \(value)\r\nconnection: last\r\n\r\n")?.tokens(
                "connection"
            )
        }
        #expect(try tokens("keep-alive, Upgrade") == ["keep-alive", "Upgrade", "last"])
        #expect(try tokens(",, a ,") == ["a", "last"])
        for value in ["upgrade\tx", "upgrade;q=1", "a b", "\"upgrade\"", "up\u{e9}"] {
            #expect(throws: WebRefusal.self, "\(value)") { try tokens(value) }
        }
    }

    @Test func connectionsStayOpenUnlessTheClientWantsOtherwise() throws {
        func keeps(_ version: String, _ field: String) throws -> Bool? {
            try HeadReader.read("GET / HTTP/\(version)\r\n\(field)\r\n\r\n")?.keepsConnection()
        }
        #expect(try keeps("1.1", "A: b") == true)
        #expect(try keeps("1.1", "Connection: Close") == false)
        #expect(try keeps("1.0", "A: b") == false)
        #expect(try keeps("1.0", "Connection: keep-alive") == true)
        // After such a head the decoder may not read another one.
        #expect(try keeps("1.1", "Upgrade: h2c") == false)
        #expect(throws: WebRefusal.self) { try keeps("1.1", "Connection: upgrade\t, a") }
    }
}

/// Paths below the root.
struct WebPathTests {
    private static func names(_ target: String) throws -> [String] { try WebPath(target: target).names }

    @Test func pathsAreDecodedOnceByBytes() throws {
        #expect(try Self.names("/") == [] && WebPath(target: "/").isDirectory)
        #expect(try Self.names("/a/b.js?x=/../..#y") == ["a", "b.js"])
        #expect(try Self.names("/a%20b/%C3%BC") == ["a b", "ü"])
        #expect(try Self.names("/%2561") == ["%61"])
        // A combining character after a slash does not hide the slash.
        #expect(try Self.names("/a/%CC%81b") == ["a", "\u{301}b"])
        #expect(try WebPath(target: "/a/").isDirectory && Self.names("/a/") == ["a"])
        #expect(try WebPath(target: "/nest?token").isProtocol)
        #expect(try !WebPath(target: "/nest/").isProtocol && !WebPath(target: "/nest/nest").isProtocol)
    }

    @Test(arguments: [
        ("/..", 404), ("/a/../b", 404), ("/%2e%2e/b", 404), ("/.git/config", 404), ("/%2Egit", 404), ("//a", 404),
        ("/a//b", 404), ("/a%2fb", 404), ("/a%5cb", 404), ("/a%00", 404), ("/a%0d%0a", 404), ("/%ff", 404), ("/.", 404),
        ("/a%", 400), ("/a%4", 400), ("/a%zz", 400), ("/%+1", 400),
    ])
    func pathsThatCouldLeaveTheRootAreRefused(_ target: String, _ status: Int) {
        #expect {
            try WebPath(target: target)
        } throws: { error in
            (error as? WebRefusal)?.status.rawValue == status
        }
    }

    @Test func typesFollowTheEndOfTheName() {
        let types = [
            "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
            "css": "text/css; charset=utf-8",
            "json": "application/json", "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon",
            "map": "application/json", "txt": "text/plain; charset=utf-8", "exe": "application/octet-stream",
        ]
        for (end, type) in types { #expect(WebFiles.type(of: "a.b.\(end)") == type) }
        #expect(WebFiles.type(of: "A.HTML") == types["html"])
    }

    @Test func anyKnownTagOfAFileMatches() {
        let tag = WebTag("\"1-2\"")
        for values in [["\"1-2\""], ["W/\"1-2\""], ["\"0\", \"1-2\""], ["\"0\"", "\"1-2\""], ["*"]] {
            #expect(tag.matches(values), "\(values)")
        }
        for values in [[], [""], ["1-2"], ["\"1-2"], ["\"1-22\""], ["w/\"1-2\""]] {
            #expect(!tag.matches(values), "\(values)")
        }
    }
}
