import ArgumentParser
import Glibc
import NestModel
import NestSecrets
import NestStore
import NestProtocol

/// `nestd token …`: tokens of a store whose nestd is stopped.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
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

        @Option(help: "The user of the token, whom history and changes show. (default: the token's name)")
        var user = ""

        @Option(
            help: ArgumentHelp("When the token expires: 12h, 30d, 2027-01-31. (default: never)", valueName: "when")
        )
        var expires: String?

        @OptionGroup var store: StoreOption

        private static func role(_ text: String) throws -> AccessRole {
            guard let role = AccessRole(name: text) else {
                throw ValidationError("the role must be read, write or admin")
            }
            return role
        }

        func run() throws {
            let secret = TokenSecret.random()
            let grant = TokenGrant(name: self.name, role: self.role, user: self.user, expires: try self.expiry())
            let token = try self.store.with(model: .nestedList) { store in
                try store.createToken(grant, secretHash: secret.sha256, now: TokenCommand.now())
            }
            print(AccessToken(number: token.description.number, secret: secret).text)
        }

        func validate() throws { _ = try self.expiry() }

        private func expiry() throws -> Int64? {
            let reading = DateReading(now: TokenCommand.now())
            do {
                return try self.expires.map { text throws(DateFault) in try TokenExpiry.microseconds(text, reading) }
            } catch {
                throw ValidationError("--expires: \(error.message)")
            }
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    struct ListTokens: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the tokens, without their secrets.",
            discussion: """
                Examples:
                  nestd token list --store notes.sqlite

                A line has the token's number, name, role, root, user and expiry (UTC), between tabs.
                """
        )

        @OptionGroup var store: StoreOption

        func run() throws {
            for token in try self.store.with({ try $0.tokens() }) {
                let grant = token.description.grant
                let root = grant.confinement.map { "#\($0.root)" } ?? ""
                let expires = grant.expires.map { DateText.text(microseconds: $0) } ?? "never"
                let user = grant.label?.text ?? ""
                print(
                    "\(token.description.number)\t\(Self.visible(grant.name))\t\(grant.role)\t\(root)"
                        + "\t\(Self.visible(user))\t\(expires)"
                )
            }
        }

        /// Replaces what could control a terminal or cannot be seen.
        private static func visible(_ text: String) -> String {
            text.unicodeScalars.map { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: "?"
                default: String(scalar)
                }
            }.joined()
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
