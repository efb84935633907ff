// swift-tools-version: 6.2
import Foundation
import PackageDescription

// Dependencies point to lower levels only. `make build` passes `--explicit-target-dependency-import-check error`, so an
// import that is not declared here does not compile.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The settings of the server's targets. Debug builds, and so all tests, check exclusive access at run time. Release
/// builds do not: the checks would be 8 % of a commit's instructions.
let serverSettings =
    settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let concurrencyHelpers = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")

let package = Package(
    name: "nest",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "NestClient", targets: ["NestClient"]),
        .library(name: "NestCache", targets: ["NestCache"]),
        .plugin(name: "NestModelTypes", targets: ["NestModelTypes"]),
        .executable(name: "nestd", targets: ["nestd"]),
        .executable(name: "nestc", targets: ["nestc"]),
        .executable(name: "nestbench", targets: ["nestbench"]),
        .executable(name: "nestpeers", targets: ["nestpeers"]),
        .executable(name: "nestexamples", targets: ["nestexamples"]),
    ],
    traits: [
        .trait(name: "Cluster", description: "nestd on many machines, with its log in PostgreSQL. Needs libpq."),
        .default(enabledTraits: ["Cluster"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // Level 0: values and pure rules.
        .target(name: "NestModel", swiftSettings: settings),

        // Level 1: one external dependency each.
        .systemLibrary(name: "CJemalloc", pkgConfig: "jemalloc", providers: [.apt(["libjemalloc-dev"])]),
        // The priorities and time slices of threads on Linux.
        .systemLibrary(name: "CScheduling"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        // The codec of protocol.md, for client, server and engine. It works on bytes, without NIO.
        .target(
            name: "NestProtocol",
            dependencies: ["NestModel", "CZstd", concurrencyHelpers],
            swiftSettings: settings
        ),
        // The protocol's frames in NIO buffers.
        .target(name: "NestFraming", dependencies: ["NestModel", "NestProtocol", nioCore], swiftSettings: settings),
        // How values are ordered, sectioned and compared. Clients need it without SQLite and RE2.
        .target(name: "NestOrder", dependencies: ["NestModel"], swiftSettings: settings),
        // RE2 behind functions of C.
        .target(name: "CRegex", linkerSettings: [.linkedLibrary("re2")]),
        // How a store represents a model: layouts, rows, change sets, compiled predicates.
        .target(name: "NestSchema", dependencies: ["NestModel", "NestOrder", "CRegex"], swiftSettings: serverSettings),
        .target(
            name: "NestStore",
            dependencies: [
                "NestModel", "NestProtocol", "NestOrder", "NestSchema", "CSQLite", grdb, sqlite, concurrencyHelpers,
                .target(name: "CCrypto", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: serverSettings
        ),
        .target(
            name: "NestLiveQuery",
            dependencies: ["NestModel", "NestProtocol", "NestOrder", "NestSchema", deque],
            swiftSettings: serverSettings
        ),
        // The page for browsers: only data, which a plugin makes of the files in Page and Clients/js.
        .executableTarget(name: "Embedder", path: "Plugins/Embedder", swiftSettings: settings),
        .plugin(name: "EmbedPage", capability: .buildTool(), dependencies: ["Embedder"]),
        .target(
            name: "NestPage",
            exclude: ["Files"],
            swiftSettings: settings,
            plugins: [.plugin(name: "EmbedPage")]
        ),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .target(
            name: "NestDocuments",
            dependencies: ["NestModel", "CLibXML2", concurrencyHelpers],
            swiftSettings: settings
        ),
        // For packages that use the client: Swift types of their models, made when they are built. The tool is small,
        // because such a package builds it for itself.
        .executableTarget(
            name: "ModelTypesTool",
            dependencies: ["NestModel", "NestDocuments"],
            path: "Plugins/ModelTypesTool",
            swiftSettings: settings
        ),
        .plugin(name: "NestModelTypes", capability: .buildTool(), dependencies: ["ModelTypesTool"]),
        // For SHA-256 of secrets and of the log, and for the certificates of tests. It uses the system's library,
        // because building another one takes two minutes.
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "NestSecrets",
            dependencies: [
                "NestModel", "NestProtocol", .target(name: "CCrypto", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: settings
        ),

        // Level 2: the deterministic core.
        // What a client shows of writes that the server has not confirmed.
        .target(name: "NestOverlay", dependencies: ["NestModel", "NestOrder"], swiftSettings: settings),
        .target(
            name: "NestEngine",
            dependencies: [
                "NestModel", "NestProtocol", "NestOrder", "NestSchema", "NestStore", "NestLiveQuery",
                concurrencyHelpers, deque,
            ],
            swiftSettings: serverSettings
        ),

        // The log of a cluster in PostgreSQL. nestd has it with the trait Cluster only.
        .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "NestLog",
            dependencies: ["NestModel", "NestProtocol", "NestStore", "CPQ", concurrencyHelpers],
            swiftSettings: settings
        ),

        // Level 3: the I/O layer.
        .target(
            name: "NestServer",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestSecrets", "NestStore", "NestEngine", "CJemalloc",
                "CScheduling",
                nioCore, nioPosix, nioHTTP1, nioWebSocket, nioTLS, nioSSL, concurrencyHelpers, deque, histogram,
                logging,
                metrics, lifecycle,
            ],
            swiftSettings: serverSettings
        ),
        .target(
            name: "NestClient",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestOverlay", "NestSecrets", nioCore, nioPosix, nioTLS,
                nioSSL,
                concurrencyHelpers, deque, logging,
            ],
            swiftSettings: settings
        ),

        // The states of a client's lists in a file. It is separate, so that NestClient does not need SQLite.
        .target(
            name: "NestCache",
            dependencies: ["NestModel", "NestProtocol", "NestClient", grdb, concurrencyHelpers, logging],
            swiftSettings: settings
        ),

        // Settings, logs, metrics and health for operators. It does not depend on the server; nestd connects the two.
        .target(
            name: "NestOperations",
            dependencies: [
                "NestModel", "NestProtocol", "NestDocuments", nioCore, nioPosix, nioHTTP1, concurrencyHelpers,
                configuration, coreMetrics, logging, lifecycle,
            ],
            swiftSettings: settings
        ),

        // Level 4: parse flags, wire up, run.
        .executableTarget(
            name: "nestd",
            dependencies: [
                "NestModel", "NestProtocol", "NestPage", "NestDocuments", "NestSecrets", "NestStore", "NestServer",
                "NestOperations", .target(name: "NestLog", condition: .when(traits: ["Cluster"])), argumentParser,
                concurrencyHelpers, coreMetrics, logging, lifecycle, unixSignals,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "nestc",
            dependencies: ["NestModel", "NestProtocol", "NestDocuments", "NestClient", argumentParser, unixSignals],
            swiftSettings: settings
        ),

        // Drives the engine without the I/O layer, to measure engine time. It is a separate target, so that nestbench,
        // a client like nestc, imports neither the engine nor the store.
        .target(
            name: "BenchEngine",
            dependencies: ["NestModel", "NestProtocol", "NestStore", "NestEngine", "CJemalloc", concurrencyHelpers],
            path: "bench/Engine",
            swiftSettings: settings
        ),
        // Simulates network faults, for tests and by hand. It knows TCP and nothing of nest.
        .target(name: "ChaosProxy", dependencies: [nioCore, nioPosix], path: "bench/Proxy", swiftSettings: settings),
        // The servers that nestbench compares nest with: the least work, in C.
        .target(name: "CLimits", path: "bench/CLimits"),
        // Runs the server in the load client's process, and records what both do. A separate target for the same
        // reason.
        .target(name: "CTrace", path: "bench/CTrace"),
        .target(
            name: "BenchStages",
            dependencies: ["NestModel", "NestStore", "NestServer", "CTrace", logging],
            path: "bench/Stages",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "nestbench",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestClient", "NestCache", "BenchEngine", "BenchStages",
                "ChaosProxy",
                argumentParser, "CLimits", "CSQLite", concurrencyHelpers, deque, histogram, nioCore, nioPosix, sqlite,
            ],
            path: "bench",
            exclude: ["Adopt", "CLimits", "CTrace", "Count", "Engine", "Peers", "Proxy", "Stages", "report"],
            swiftSettings: settings
        ),
        // Compares nest with other servers. The protocols of these servers are a separate target, which the tests use.
        // The gRPC server in bench/Peers/gRPC is a separate package, so that nest does not get its dependencies.
        .systemLibrary(name: "CEpoll", path: "bench/Peers/CEpoll"),
        .target(
            name: "PeerWires",
            dependencies: ["NestModel", "NestProtocol", "NestFraming"],
            path: "bench/Peers/Wires",
            swiftSettings: serverSettings
        ),
        .executableTarget(
            name: "nestpeers",
            dependencies: ["NestProtocol", "PeerWires", "CEpoll", argumentParser, histogram],
            path: "bench/Peers",
            exclude: ["CEpoll", "Wires", "gRPC", "install"],
            swiftSettings: serverSettings
        ),
        // Uses no sockets and starts no threads, so that valgrind can count its instructions.
        .executableTarget(
            name: "nestcount",
            dependencies: ["NestModel", "BenchEngine", argumentParser],
            path: "bench/Count",
            exclude: ["check", "expected"],
            swiftSettings: settings
        ),

        // The Swift examples. Their pages quote this code, and the tests run it.
        .executableTarget(
            name: "nestexamples",
            dependencies: ["NestModel", "NestClient", "NestCache"],
            path: "Examples",
            exclude: [
                "nested-lists/README.md", "nested-lists/seed.sh", "nested-lists/outline.mjs",
                "nested-lists/model.json", "number-facts/README.md",
                "number-facts/seed.sh", "number-facts/NumberFacts.xcdatamodeld", "number-facts/NumberFacts.sqlite",
                "number-facts/facts.py",
                "phone-book/README.md", "phone-book/seed.sh", "phone-book/model.json", "phone-book/people.txt",
                "phone-book/phones.py", "done/README.md", "done/seed.sh", "done/model.json", "done/index.html",
                "done/done.js", "browser-list", "browser-outline", "clients",
            ],
            swiftSettings: settings
        ),

        // Tests.
        .target(
            name: "NestTestSupport",
            dependencies: ["NestModel", "NestProtocol", "NestFraming", "NestSchema", "CCrypto", sqlite],
            path: "Tests/NestTestSupport",
            swiftSettings: settings
        ),
        // Records what clients observe of a server, and checks the rules that the server must obey.
        .target(
            name: "NestHistory",
            dependencies: ["NestModel"],
            path: "Tests/NestHistory",
            swiftSettings: settings
        ),
        // Sends meaningful requests to the real engine, generated from a seed or from a fuzzer's bytes.
        .target(
            name: "NestMeaning",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestSchema", "NestSecrets", "NestStore", "NestEngine",
                "NestServer", "NestTestSupport", nioCore,
            ],
            path: "Tests/NestMeaning",
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestMeaningTests",
            dependencies: ["NestMeaning", "NestTestSupport"],
            swiftSettings: settings
        ),
        // The decoders of untrusted bytes, as fuzz targets. The tests run them with stored bytes, libFuzzer with
        // generated bytes.
        .target(
            name: "NestFuzzing",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestDocuments", "NestEngine", "NestServer", "NestMeaning",
                "NestTestSupport", nioCore, nioPosix, nioEmbedded,
            ],
            path: "Fuzz/Targets",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: ["NestFuzzing", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestModelTests",
            dependencies: ["NestModel", "NestProtocol", "NestOrder", "NestSchema", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestOrderTests",
            dependencies: ["NestModel", "NestProtocol", "NestOrder", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestProtocolTests",
            dependencies: ["NestModel", "NestProtocol", "NestFraming", "NestFuzzing", "NestTestSupport", nioCore],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestStoreTests",
            dependencies: ["NestModel", "NestProtocol", "NestSchema", "NestStore", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestLogTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestStore", "NestLog", "ChaosProxy", "NestTestSupport",
                concurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestLiveQueryTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestOrder", "NestSchema", "NestLiveQuery", "NestTestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestEngineTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestSchema", "NestStore", "NestEngine", "NestOverlay",
                "NestDocuments", "NestTestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestDocumentsTests",
            dependencies: ["NestModel", "NestProtocol", "NestDocuments", "NestTestSupport", concurrencyHelpers],
            swiftSettings: settings
        ),
        // Runs a server in the tests' process.
        .target(
            name: "NestServerTestSupport",
            dependencies: ["NestModel", "NestStore", "NestServer", nioCore, logging],
            path: "Tests/NestServerTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestServerTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestSchema", "NestSecrets", "NestStore", "NestEngine",
                "NestServer", "NestClient", "NestTestSupport", "NestServerTestSupport", "CJemalloc", nioCore, nioPosix,
                nioHTTP1, nioWebSocket, nioTLS, nioSSL, nioEmbedded, concurrencyHelpers, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestClientTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestFraming", "NestSchema", "NestStore", "NestServer", "NestClient",
                "NestDocuments", "ChaosProxy", "NestHistory", "NestTestSupport", "NestServerTestSupport", nioCore,
                nioPosix,
                concurrencyHelpers, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestCacheTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestClient", "NestCache", "NestTestSupport", grdb, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestOperationsTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestDocuments", "NestOperations", "NestTestSupport", nioCore,
                concurrencyHelpers, coreMetrics, lifecycle, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PeerWiresTests",
            dependencies: ["NestModel", "NestProtocol", "PeerWires", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestBenchTests",
            dependencies: [
                "NestModel", "NestProtocol", "BenchEngine", "BenchStages", "CLimits", "nestbench", "NestTestSupport",
                argumentParser, concurrencyHelpers, nioCore, nioPosix,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NestcTests",
            dependencies: ["NestModel", "NestDocuments", "nestc", "NestTestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: ["NestModel", "ChaosProxy", "NestHistory", "NestTestSupport", nioCore],
            swiftSettings: settings
        ),
        // Checks rules for the sources and the tests.
        .testTarget(name: "TidyTests", dependencies: ["NestTestSupport"], swiftSettings: settings),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "NestModel", "NestProtocol", "NestSchema", "NestClient", "NestCache", "ChaosProxy", "NestHistory",
                "NestTestSupport",
                concurrencyHelpers, logging,
            ],
            swiftSettings: settings
        ),
    ]
)

// Only `make fuzz` builds the first, whose `main` is libFuzzer's, and only `make meaning` builds the second.
if ProcessInfo.processInfo.environment["NEST_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "nestfuzz",
            dependencies: ["NestFuzzing"],
            path: "Fuzz/Main",
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]
        )
    )
    package.targets.append(
        .executableTarget(
            name: "nestmeaning",
            dependencies: ["NestMeaning", "NestTestSupport", argumentParser],
            path: "Fuzz/Meaning",
            swiftSettings: settings
        )
    )
}
