import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Glibc

/// A gRPC server with one method that returns its request: the minimum cost of a unary call.
///
/// `grpcecho PORT` listens on 127.0.0.1.
@main
struct EchoServer {
    static func main() async throws {
        guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
            print("usage: grpcecho PORT")
            exit(64)
        }
        let server = GRPCServer(
            transport: .http2NIOPosix(
                address: .ipv4(host: "127.0.0.1", port: port),
                transportSecurity: .plaintext
            ),
            services: [EchoService()]
        )
        try await server.serve()
    }
}

/// `/bench.Echo/Unary`, registered by hand: its messages are plain bytes, so there is no code to generate.
struct EchoService: RegistrableRPCService {
    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(
            forMethod: MethodDescriptor(fullyQualifiedService: "bench.Echo", method: "Unary"),
            deserializer: RawBytes(),
            serializer: RawBytes()
        ) { request, _ in
            let message = try await ServerRequest(stream: request).message
            return StreamingServerResponse(single: ServerResponse(message: message))
        }
    }
}

/// Passes messages as the bytes on the wire.
struct RawBytes: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ serializedMessageBytes: Bytes) throws -> [UInt8] {
        serializedMessageBytes.withUnsafeBytes { Array($0) }
    }
}
