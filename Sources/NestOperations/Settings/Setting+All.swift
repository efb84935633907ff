import Logging
import NestModel
import NestProtocol

/// The settings of nestd: the only list of them.
extension Setting {
    package static let host = Setting("host", .text, default: .text("127.0.0.1"))
    package static let port = Setting("port", .integer(0...65_535), default: .integer(7_000))
    package static let insecure = Setting("insecure", .flag, default: .flag(false))
    /// When clients need a token.
    package static let auth = Setting("auth", .choice(["auto", "required", "none"]), default: .text("auto"))
    package static let tlsCert = Setting("tls.cert", .text)
    package static let tlsKey = Setting("tls.key", .text)
    package static let tlsClientCA = Setting("tls.clientCa", .text)
    package static let tlsPeerCA = Setting("tls.peerCa", .text)
    package static let store = Setting("store", .text, default: .text("nest.sqlite"))
    /// The MiB that must stay free on the disk of the store.
    package static let minFree = Setting(
        "minFree",
        .integer(0...Setting.minFreeMax),
        default: .integer(Limits.diskFreeBytesMin >> 20)
    )
    package static let minFreeMax = 1 << 40
    package static let memory = Setting("memory", .flag, default: .flag(false))
    package static let model = Setting("model", .text)
    /// The PostgreSQL server that has the log of the node's cluster; without a value the node is not in a cluster.
    package static let logURL = Setting("log.url", .url, option: "--log")
    /// The node's name in its cluster; without a value the machine's.
    package static let node = Setting("node", .text)
    /// HOST:PORT under which clients and other nodes reach this one.
    package static let advertise = Setting("advertise", .text)
    /// HOST:PORT for browsers; without a value there is no such port.
    package static let web = Setting("web.address", .text, option: "--web")
    /// The directory whose files browsers get.
    package static let webRoot = Setting("web.root", .text)
    /// Whether browsers get nestd's page; without a value they do, unless they get the files of a directory.
    package static let webPage = Setting("web.page", .flag)
    /// Names and origins, separated by commas.
    package static let webNames = Setting("web.names", .text, option: "--web-name")
    package static let webOrigins = Setting("web.origins", .text, option: "--web-origin")
    /// The port for metrics and health, on the loopback address only; without a value they are not shown.
    package static let metricsPort = Setting("metrics.port", .integer(0...65_535))
    package static let logLevel = Setting(
        "log.level",
        .choice(Logger.Level.allCases.map(\.rawValue)),
        default: .text("info"),
        isLive: true
    )
    package static let logFormat = Setting("log.format", .choice(["text", "json"]), default: .text("text"))
    package static let connectionsMax = Setting(
        "limits.connections",
        .integer(1...1_000_000),
        default: .integer(Limits.connectionsMax),
        isLive: true
    )
    package static let outputBytesMax = Setting(
        "limits.outputBytes",
        .integer(Limits.frameBytesMax...(1 << 40)),
        default: .integer(Limits.outputBytesMax),
        isLive: true
    )
    package static let spoolBytesMax = Setting(
        "limits.spoolBytes",
        .integer(Limits.frameBytesMax...(1 << 50)),
        default: .integer(Limits.spoolBytesMax),
        isLive: true
    )

    package static let valueBytesMax = Setting(
        "limits.valueBytes",
        .integer(Limits.valueBytesMax...Limits.largeValueBytesMax),
        default: .integer(Limits.largeValueBytesMax)
    )

    package static let memoryBytesMax = Setting(
        "limits.memoryBytes",
        .integer(Setting.memoryBytesMin...(1 << 50)),
        default: .integer(Limits.memoryBytesMax)
    )
    /// Less than this leaves no room for one large answer.
    package static let memoryBytesMin = 64 << 20

    package static let writeStepsMax = Setting(
        "limits.writeSteps",
        .integer(Setting.stepsMin...(1 << 40)),
        default: .integer(Limits.writeStepsMax)
    )
    package static let confinedWriteStepsMax = Setting(
        "limits.confinedWriteSteps",
        .integer(Setting.stepsMin...(1 << 40)),
        default: .integer(Limits.confinedWriteStepsMax)
    )
    /// The steps of a transaction of the usual size.
    private static let stepsMin = 1 << 10

    /// All settings, in the order in which they are printed.
    package static let all: [Setting] = [
        .host, .port, .auth, .tlsCert, .tlsKey, .tlsClientCA, .tlsPeerCA, .insecure, .store, .minFree, .memory, .model,
        .logURL, .node, .advertise,
        .web, .webRoot, .webPage, .webNames, .webOrigins,
        .metricsPort, .logLevel, .logFormat, .connectionsMax,
        .outputBytesMax, .spoolBytesMax, .valueBytesMax, .memoryBytesMax,
        .writeStepsMax, .confinedWriteStepsMax,
    ]
}
