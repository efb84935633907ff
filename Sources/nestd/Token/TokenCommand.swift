import ArgumentParser
import Glibc
import NestModel
import NestSecrets
import NestStore
import NestProtocol

/// `nestd token …`: tokens of a store whose nestd is stopped.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestd token",
        abstract: "Create, list and revoke tokens of a store whose nestd is stopped.",
        discussion: """
            Examples:
              (umask 077; nestd token create me --store notes.sqlite > me.token)
              nestd token list --store notes.sqlite
              nestd token revoke 3 --store notes.sqlite

            While nestd runs, use 'nestc token', which has more options.
            """,
        subcommands: [CreateToken.self, ListTokens.self, RevokeToken.self]
    )

    struct StoreOption: ParsableArguments {
        @Option(help: ArgumentHelp("The store.", valueName: "file"))
        var store = "nest.sqlite"

        /// Opens the store with the model that it has. Creates a missing store with `model`.
        func with<Result>(model: ManagedObjectModel? = nil, _ body: (Store) throws -> Result) throws -> Result {
            do {
                let location = Store.Configuration.Location.file(Nestd.path(ofStore: self.store))
                let stored = try Store.storedModel(at: location)
                guard let model = stored ?? model else {
                    throw Nestd.failure(66, "there is no store \(self.store)")
                }
                var generator = SystemRandomNumberGenerator()
                let store = try Store(
                    Store.Configuration(location: location, model: model),
                    newHistoryID: .random(using: &generator)
                )
                if stored == nil { Nestd.printMessage("there was no store \(self.store): created it") }
                let result = Swift.Result { try store.access { try body(store) } }
                try store.close()
                return try result.get()
            } catch StoreError.refused(let refusal) {
                throw Nestd.failure(65, refusal.message)
            } catch let error as StoreError {
                throw Nestd.failure(error.exitStatus, "\(error)")
            }
        }
    }

    struct CreateToken: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Create a token for the whole store, and print it.",
            discussion: """
                Examples:
                  (umask 077; nestd token create me --store notes.sqlite > me.token)

                The first token must have the role admin. A missing store is created with the nested list as its \
                model; for another model, start nestd once first.
                """
        )

        @Argument(help: "A name for the token, for your information.")
        var name: String

        @Option(help: "The role: read, write or admin.", transform: Self.role)
        var role = AccessRole.admin

        @OptionGroup var store: StoreOption

        private static func role(_ text: String) throws -> AccessRole {
            guard let role = AccessRole(name: text) else {
                throw ValidationError("the role must be read, write or admin")
            }
            return role
        }

        func run() throws {
            let secret = TokenSecret.random()
            let grant = TokenGrant(name: self.name, role: self.role)
            let token = try self.store.with(model: .nestedList) { store in
                try store.createToken(grant, secretHash: secret.sha256, now: Self.now())
            }
            print(AccessToken(number: token.description.number, secret: secret).text)
        }

        private static func now() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }
    }

    struct ListTokens: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the tokens, without their secrets.",
            discussion: """
                Examples:
                  nestd token list --store notes.sqlite
                """
        )

        @OptionGroup var store: StoreOption

        func run() throws {
            for token in try self.store.with({ try $0.tokens() }) {
                let grant = token.description.grant
                let root = grant.confinement.map { "\t#\($0.root)" } ?? ""
                let name = grant.name.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? "?" : String($0) }
                print("\(token.description.number)\t\(name.joined())\t\(grant.role)\(root)")
            }
        }
    }

    struct RevokeToken: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Revoke tokens.",
            discussion: """
                Examples:
                  nestd token revoke 3 --store notes.sqlite

                When no token is left, every client that can reach the server is an administrator again, unless the \
                server has '--auth required'.
                """
        )

        @Argument(help: "The numbers of the tokens.")
        var numbers: [UInt64]

        @OptionGroup var store: StoreOption

        func run() throws {
            try self.store.with { store in
                let known = Set(try store.tokens().map(\.description.number))
                if let missing = self.numbers.first(where: { !known.contains($0) }) {
                    let text = "there is no token \(missing): 'nestd token list' lists the tokens"
                    throw StoreError.refused(NestError(.notFound, text))
                }
                for number in self.numbers { try store.removeToken(number) }
            }
        }
    }
}
