import NestModel
import NestServer
import NestStore

#if Cluster
import NestLog
#endif

/// The parts of nestd that need libpq. A nestd that was built without the trait `Cluster` has none of them.
enum ClusterSupport {
    /// The name of the only store of a cluster.
    static let storeName = "default"

    static func missing(_ option: String) -> String {
        "\(option): this nestd was built without cluster support: use one that was built with it (the trait Cluster)"
    }

    #if Cluster
    static let isBuiltIn = true

    private static func settings(_ url: String, node: String, address: String) -> PostgresLog.Settings {
        PostgresLog.Settings(
            url: url,
            node: node,
            address: address,
            version: ServerVersion.nest,
            storeName: Self.storeName
        )
    }

    /// Returns what is wrong with the address of a log, without connecting.
    static func fault(ofURL url: String) -> String? {
        do throws(LogFailure) {
            try PostgresLog.check(url: url)
            return nil
        } catch {
            return error.description
        }
    }

    /// Connects a node.
    static func connect(_ url: String, node: String, address: String) throws(LogFailure) -> ReplicaLog {
        let log = try PostgresLog(Self.settings(url, node: node, address: address))
        return ReplicaLog(
            log: log,
            sharedLog: { log.sharedLog(onResolved: $0) },
            seize: { () throws(LogFailure) in
                try log.seize()
            }
        )
    }

    /// Connects and makes the tables of the log, if they are missing.
    static func setUp(_ url: String) throws(LogFailure) -> LogSetup {
        let setup = try PostgresLogSetup(Self.settings(url, node: "", address: ""))
        try setup.installSchema()
        return LogSetup(
            reserveStore: { () throws(LogFailure) in try setup.reserveStore() },
            createStore: { (record, chain, snapshot, part) throws(LogFailure) in
                try setup.createStore(record: record, chain: chain, snapshot: snapshot, part: part)
            }
        )
    }

    /// Returns `false` if the cluster has no node of this name.
    static func forget(_ node: String, _ url: String) throws(LogFailure) -> Bool {
        try PostgresLogSetup(Self.settings(url, node: "", address: "")).forget(node: node)
    }
    #else
    static let isBuiltIn = false
    private static let failure = LogFailure.unusable(Self.missing("--log"))

    static func fault(ofURL url: String) -> String? { nil }

    static func connect(_ url: String, node: String, address: String) throws(LogFailure) -> ReplicaLog {
        throw self.failure
    }

    static func setUp(_ url: String) throws(LogFailure) -> LogSetup { throw self.failure }

    static func forget(_ node: String, _ url: String) throws(LogFailure) -> Bool { throw self.failure }
    #endif
}

/// Makes a store the first one of a log.
struct LogSetup {
    /// Returns the number that the store will have.
    let reserveStore: () throws(LogFailure) -> Int64
    /// Adds the first record and its snapshot.
    let createStore: (LogRecord, Chain, LogSnapshot, (Int) throws(LogFailure) -> [UInt8]) throws(LogFailure) -> Void
}

extension LogFailure {
    var exitStatus: Int32 {
        switch self {
        case .unavailable: 69
        case .unusable: 78
        case .damaged: 65
        }
    }
}
