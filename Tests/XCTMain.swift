import Testing

/// The program of all tests. With a file of this name SwiftPM looks for no tests of XCTest, for which it would need an
/// index of everything that is built. Swift Testing finds its tests by itself.
@main struct AllTests {
    static func main() async {
        let arguments = CommandLine.arguments
        if arguments.contains("--dump-tests-json") { return print(#"{"tests": []}"#) }
        // `swift test` asks once for each of the two libraries.
        let library = arguments.firstIndex(of: "--testing-library").map { arguments[($0 + 1)...].first }
        guard library == "swift-testing" else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
