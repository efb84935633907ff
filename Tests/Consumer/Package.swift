// swift-tools-version: 6.2
import PackageDescription

// A package outside this repository that uses the product `NestClient`, and the plugin that makes types of its model.
// `make consumer` builds it.
let package = Package(
    name: "Consumer",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [.package(name: "nest", path: "../..")],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [.product(name: "NestClient", package: "nest")],
            plugins: [.plugin(name: "NestModelTypes", package: "nest")]
        )
    ]
)
