import CTrace
import Foundation
import Logging
import NestModel
import NestServer
import NestStore

/// nestd's server in this process, on a new store. It marks in the trace what its engine does.
package final class TracedServer {
    package let port: Int
    private let server: Server
    private let directory: URL

    package init(under directory: String) async throws {
        self.directory = URL(filePath: directory).appending(path: "nest-stages-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        var configuration = ServerConfiguration(
            host: "127.0.0.1",
            port: 0,
            store: Store.Configuration(
                location: .file(self.directory.appending(path: "stages.sqlite").path),
                model: .nestedList
            ),
            serverName: "nestbench"
        )
        configuration.onEngineStage = { stage, _ in TraceEvent.mark(stage) }
        self.server = Server(configuration, logger: Logger(label: "nestbench") { _ in SwiftLogNoOpLogHandler() })
        self.port = try await self.server.start().port
    }

    /// Stops the server and removes its store.
    package func stop() async throws {
        try await self.server.stop()
        try FileManager.default.removeItem(at: self.directory)
    }
}
