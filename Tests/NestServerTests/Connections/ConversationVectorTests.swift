import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Runs the conversations of `Tests/Vectors/negative.json` against a server.
    @Suite struct ConversationVectorTests {
        /// Each violation gets the expected error code and id, and the connection closes or stays open as expected:
        /// over TCP, and over WebSocket.
        @Test(arguments: [false, true]) func theServerRepliesMatchTheVectors(isWebSocket: Bool) async throws {
            let vectors = try Vectors.negative("connection")
            try await withWebServer { port, webPort, _ in
                for vector in vectors {
                    try self.play(vector, port: isWebSocket ? webPort : port, isWebSocket: isWebSocket)
                }
            }
        }

        private func play(_ vector: Vectors.Negative, port: Int, isWebSocket: Bool) throws {
            let expected = try vector.json["expect"]
            let connection = try ServerRawConnection(port: port, isWebSocket: isWebSocket)
            for bytes in try vector.json["send"].elements { try connection.send(try Hex.bytes(bytes.text)) }

            if let preface = expected.optional("preface") {
                #expect(try Preface.magic + connection.preface() == Hex.bytes(preface.text), "\(vector)")
                #expect(try connection.frame() == nil, "\(vector)")
                return
            }
            #expect(try connection.preface() == [1, 1, 1, 0], "\(vector)")
            let frame = try #require(try self.firstError(connection), "\(vector): no error")
            #expect(Int(frame.id) == (try expected["id"].int), "\(vector)")
            let code = try ErrorMessage(body: frame.body).error.code
            #expect("\(code)" == (try expected["code"].text), "\(vector)")

            if try expected["closes"].isTrue {
                #expect(try connection.frame() == nil, "\(vector)")
            } else {
                try connection.send(Ping(payload: 7).frame(id: 0))
                #expect(try connection.expect(Pong.self, id: 0).payload == 7, "\(vector)")
            }
        }

        /// Returns the first ERROR, skipping WELCOME and the replies to valid requests.
        private func firstError(_ connection: ServerRawConnection) throws -> Frame? {
            while let frame = try connection.frame() {
                if frame.type == MessageType.error.rawValue { return frame }
            }
            return nil
        }
    }
}
