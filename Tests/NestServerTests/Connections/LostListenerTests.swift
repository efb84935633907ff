import Foundation
import Logging
import NestModel
import NestServer
import NestServerTestSupport
import NestStore
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension SocketTests {
    /// A server to which no client can connect any more must end, so that it is started again.
    @Suite struct LostListenerTests {
        @Test(arguments: [false, true])
        func aServerWhoseListeningSocketIsClosedEnds(isForBrowsers: Bool) async throws {
            var configuration = ServerConfiguration(
                host: "127.0.0.1",
                port: 0,
                store: Store.Configuration(location: .memory, model: .nestedList),
                serverName: "test"
            )
            configuration.web = WebConfiguration(host: "127.0.0.1", port: 0, root: nil)
            let (started, start) = AsyncStream.makeStream(of: Server.Listening.self)
            let server = Server(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
                start.yield($0)
            }
            async let run: Void = server.run()
            for await listening in started {
                let port = isForBrowsers ? listening.webPort : listening.port
                try Self.shutDownListener(ofPort: #require(port))
                break
            }
            do {
                try await run
                Issue.record("the server ended without an error")
            } catch {
                guard case ServerError.listenerLost = error else { throw error }
                #expect("\(error)".contains("127.0.0.1"))
            }
        }

        /// Makes `accept` fail, as no test can make the system do it. The number of the descriptor stays in use.
        private static func shutDownListener(ofPort port: Int) throws {
            var found = 0
            for descriptor in Int32(3)..<1_024 {
                var address = [UInt8](repeating: 0, count: 128)
                var size = socklen_t(address.count)
                let result = address.withUnsafeMutableBytes {
                    getsockname(descriptor, $0.bindMemory(to: sockaddr.self).baseAddress, &size)
                }
                // The port follows the family, in network order.
                guard result == 0, address[0] == AF_INET, Int(address[2]) << 8 | Int(address[3]) == port else {
                    continue
                }
                var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
                guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening == 1
                else { continue }
                try #require(shutdown(descriptor, Int32(SHUT_RDWR)) == 0)
                found += 1
            }
            try #require(found == 1)
        }
    }
}
