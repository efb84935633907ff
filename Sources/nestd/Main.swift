import ArgumentParser

/// Serves, or does what `nestd token` says: whose options are its own, and not those of the server.
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "token" {
            TokenCommand.main(Array(arguments.dropFirst()))
        } else {
            await Nestd.main()
        }
    }
}
