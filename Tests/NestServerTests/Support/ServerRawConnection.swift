import Glibc
import NIOCore
import NestModel
import NestProtocol
import NestServerTestSupport
import NestTestSupport
import Testing
import NestFraming

/// A client on a blocking socket that uses only NestProtocol, so that a test controls every byte.
final class ServerRawConnection {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let descriptor: Int32
    private var inbound = ByteBuffer()
    private(set) var lastRequestID: UInt32 = 0
    /// The WebSocket around the protocol's bytes; `nil`: there is none.
    private var webSocket: RawWebSocket?

    /// `receiveBytes`: the size of the kernel's receive buffer; a small one is full soon.
    /// `isWebSocket`: whether the port is that for browsers.
    init(port: Int, receiveBytes: Int32? = nil, isWebSocket: Bool = false) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBytes {
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<Int32>.size))
        }
        limitWaits(onSocket: self.descriptor)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let result = address.withSockAddr { connect(self.descriptor, $0, socklen_t($1)) }
        guard result == 0 else { throw Failure(description: "connect: errno \(errno)") }
        if isWebSocket { try self.openWebSocket() }
    }

    deinit {
        close(self.descriptor)
    }

    /// The usual features but compressed frames, so that tests know how many bytes arrive.
    static let features = Features.usual.subtracting(.compressedFrames)

    /// Returns a connection that has received WELCOME.
    static func ready(
        port: Int,
        session: UInt64 = 1,
        receiveBytes: Int32? = nil,
        features: Features = ServerRawConnection.features,
        isWebSocket: Bool = false
    ) throws -> (ServerRawConnection, Welcome) {
        let connection = try ServerRawConnection(port: port, receiveBytes: receiveBytes, isWebSocket: isWebSocket)
        try connection.send(Preface.client.bytes)
        try connection.send(Self.hello(session: session, features: features))
        #expect(try connection.preface() == [1, 1, 1, 0])
        let welcome = try connection.expect(Welcome.self, id: 0)
        return (connection, welcome)
    }

    static func hello(
        session: UInt64 = 1,
        expectedHistory: Identifier128? = nil,
        features: Features = ServerRawConnection.features
    ) -> ByteBuffer {
        let session = Identifier128(high: 0x7465_7374, low: session)
        return Hello(clientName: "test", features: features, session: session, expectedHistory: expectedHistory)
            .frame(id: 0)
    }

    // MARK: Out

    func send(_ bytes: [UInt8]) throws {
        if self.webSocket == nil { return try self.sendRaw(bytes) }
        for start in stride(from: 0, to: bytes.count, by: Limits.webSocketFrameBytesMax) {
            let part = Array(bytes[start..<min(bytes.count, start + Limits.webSocketFrameBytesMax)])
            try self.sendRaw(RawWebSocket.frame(.binary, part))
        }
    }

    /// Sends bytes as they are, without a WebSocket frame around them.
    func sendRaw(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "send: errno \(errno)") }
            sent += count
        }
    }

    func send(_ buffer: ByteBuffer) throws {
        try self.send(Array(buffer.readableBytesView))
    }

    /// Sends a request with the next id and returns the id.
    @discardableResult
    func request(_ message: some Message) throws -> UInt32 {
        self.lastRequestID += 1
        try self.send(message.frame(id: self.lastRequestID))
        return self.lastRequestID
    }

    /// A few of these fill the buffers of a socket.
    static let wideTitle = String(repeating: "w", count: 50_000)

    /// Inserts Items with wide titles below the root, one per transaction.
    func insertWideRows(_ count: Int) throws {
        for _ in 0..<count {
            let id = try self.request(TransactionMessage(.insert(Self.wideTitle)))
            _ = try self.expect(ReceiptMessage.self, id: id)
        }
    }

    /// Closes the sending side; reading goes on.
    func endSending() {
        shutdown(self.descriptor, Int32(SHUT_WR))
    }

    // MARK: In

    /// Returns the server's preface without the magic bytes.
    func preface() throws -> [UInt8] {
        while self.inbound.readableBytes < Preface.byteCount {
            guard try self.receive() else { throw Failure(description: "closed before the preface") }
        }
        let bytes = self.inbound.readBytes(length: Preface.byteCount)!
        #expect(Array(bytes.prefix(4)) == Preface.magic)
        return Array(bytes.dropFirst(4))
    }

    /// Returns the next frame, or `nil` if the server has closed.
    func frame() throws -> Frame? {
        let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)
        while true {
            if let frame = try decoder.next(from: &self.inbound) { return frame }
            guard try self.receive() else { return nil }
        }
    }

    /// Returns the message of the next frame, which must have this type and id.
    func expect<M: Message>(_ type: M.Type, id: UInt32, _ location: SourceLocation = #_sourceLocation) throws -> M {
        let frame = try #require(try self.frame(), "the server has closed", sourceLocation: location)
        if frame.type == MessageType.error.rawValue, M.type != .error {
            throw Failure(description: "\(try ErrorMessage(body: frame.body).error), instead of \(M.type)")
        }
        #expect(frame.type == M.type.rawValue, sourceLocation: location)
        #expect(frame.id == id, sourceLocation: location)
        return try M(body: frame.body)
    }

    /// Returns the code of the next frame, which must be an error.
    func expectError(id: UInt32, _ location: SourceLocation = #_sourceLocation) throws -> ErrorCode {
        try self.expect(ErrorMessage.self, id: id, location).error.code
    }

    /// Returns all frames up to and including the first one of this type.
    func frames(until type: MessageType) throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try self.frame() {
            frames.append(frame)
            if frame.type == type.rawValue { return frames }
        }
        throw Failure(description: "closed before \(type)")
    }

    /// Reads until the server closes and returns the number of bytes.
    func bytesUntilClosed() throws -> Int {
        while try self.receive() {}
        return self.inbound.readableBytes
    }

    /// Whether bytes have arrived that nothing has read yet.
    var hasBytes: Bool {
        var byte: UInt8 = 0
        return self.inbound.readableBytes > 0
            || recv(self.descriptor, &byte, 1, CInt(MSG_DONTWAIT) | CInt(MSG_PEEK)) > 0
    }

    // MARK: Statistics

    /// Returns the value of a server statistic.
    func statistic(_ name: String) throws -> UInt64 {
        let id = try self.request(GetStatistics())
        let values = try self.expect(Statistics.self, id: id).values
        return try #require(values.first { $0.name == name }, "\(name)").value
    }

    /// Requests a statistic repeatedly until its value is as expected.
    func wait(
        for name: String,
        every pause: Duration = .milliseconds(5),
        until isExpected: (UInt64) throws -> Bool
    ) async throws {
        var value: UInt64 = 0
        try await waitUntil("statistic \(name), which is \(value)", every: pause) {
            value = try self.statistic(name)
            return try isExpected(value)
        }
    }

    // MARK: WebSocket

    /// The code of the server's close frame; `nil` if it has not sent one.
    var closeCode: UInt16? { self.webSocket?.closeCode }

    /// The payloads of the server's pongs.
    var pongs: [[UInt8]] { self.webSocket?.pongs ?? [] }

    /// Asks for a WebSocket. `bytes`: what follows the request at once.
    func openWebSocket(followedBy bytes: [UInt8] = []) throws {
        try self.sendRaw(Array(RawWebSocket.request().utf8) + bytes)
        let head = try self.httpHead()
        guard head.hasPrefix("HTTP/1.1 101 ") else { throw Failure(description: head) }
        #expect(head.lowercased().contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"))
        var webSocket = RawWebSocket()
        webSocket.received(&self.inbound)
        self.webSocket = webSocket
        self.inbound = webSocket.takePayloads()
        self.webSocket = webSocket
    }

    /// Returns the head of an HTTP answer.
    func httpHead() throws -> String {
        var head: [UInt8] = []
        while head.suffix(4) != [0x0d, 0x0a, 0x0d, 0x0a] {
            if let byte = self.inbound.readInteger(as: UInt8.self) {
                head.append(byte)
            } else if try !self.receive() {
                throw Failure(description: "closed in the head \(String(decoding: head, as: UTF8.self))")
            }
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Returns an HTTP answer: its status, its head and its body.
    func httpAnswer() throws -> (status: Int, head: String, body: [UInt8]) {
        let head = try self.httpHead()
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let length = head.lowercased().firstMatch(of: /\r\ncontent-length: (\d+)\r\n/).flatMap { Int($0.1) } ?? 0
        while self.inbound.readableBytes < length {
            guard try self.receive() else { throw Failure(description: "closed in the body") }
        }
        return (status, head, self.inbound.readBytes(length: length) ?? [])
    }

    /// Returns the answer to one request, over a connection of its own. `fields`: lines of its head.
    static func httpGet(
        _ target: String,
        port: Int,
        method: String = "GET",
        _ fields: String = ""
    ) throws -> (status: Int, head: String, body: String) {
        let connection = try ServerRawConnection(port: port)
        let fields = fields.isEmpty ? "" : fields + "\r\n"
        try connection.sendRaw(
            Array("\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n".utf8)
        )
        var answer: (status: Int, head: String, body: [UInt8])
        if method == "HEAD" {
            let head = try connection.httpHead()
            answer = (Int(head.split(separator: " ")[1]) ?? 0, head, [])
        } else {
            answer = try connection.httpAnswer()
        }
        #expect(try connection.bytesUntilClosed() == 0)
        return (answer.status, answer.head, String(decoding: answer.body, as: UTF8.self))
    }

    private func receive() throws -> Bool {
        guard var webSocket = self.webSocket else { return try self.receiveRaw(&self.inbound) }
        defer { self.webSocket = webSocket }
        while webSocket.closeCode == nil {
            var bytes = ByteBuffer()
            guard try self.receiveRaw(&bytes) else { return false }
            webSocket.received(&bytes)
            var payloads = webSocket.takePayloads()
            if payloads.readableBytes > 0 || !webSocket.pongs.isEmpty {
                self.inbound.writeBuffer(&payloads)
                return true
            }
        }
        return false
    }

    private func receiveRaw(_ buffer: inout ByteBuffer) throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(self.descriptor, &bytes, bytes.count, 0)
        if count < 0, errno == ECONNRESET { return false }
        guard count >= 0 else { throw Failure(description: "recv: errno \(errno)") }
        buffer.writeBytes(bytes.prefix(count))
        return count > 0
    }
}
