import ArgumentParser
import Logging
import NestServer
import NestStore

/// The versions of nestd.
extension Nestd {
    static var versionText: String {
        """
        nestd \(ServerVersion.nest)
        protocol \(ServerVersion.protocols)
        Swift \(ServerVersion.swift)
        SQLite \(Store.sqliteVersion)
        """
    }

    /// From this version on, SQLite itself handles two connections that checkpoint one write-ahead log.
    private static let checkpointSafeVersion = [3, 51, 3]

    /// Logs an old version of SQLite, for information only: nest lets exactly one connection checkpoint, which is safe
    /// with every version.
    static func logSQLiteVersion(_ logger: Logger) {
        let version = Store.sqliteVersion.split(separator: ".").compactMap { Int($0) }
        guard version.lexicographicallyPrecedes(Self.checkpointSafeVersion) else { return }
        logger.info(
            "sqlite.version",
            metadata: [
                "version": "\(Store.sqliteVersion)",
                "note": "before 3.51.3: other programs must not open the store while nestd runs",
            ]
        )
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
