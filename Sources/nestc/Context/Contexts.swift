import ArgumentParser

/// `nestc context …`: servers by name.
struct Contexts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context",
        abstract: "Keep servers by name, with their token files and TLS settings.",
        discussion: """
            Examples:
              nestc context set home --server 127.0.0.1:7000
              nestc context set work --server nest.example.org:7000 --tls \\
                  --token-file ~/.config/nest/work.token
              nestc context set lab --server 10.0.0.5:7000 --tls-ca lab-ca.pem --tls-server-name nest.lab \\
                  --tls-cert me.pem --tls-key me.key
              nestc context use work         for commands without --server
              nestc context list
              nestc --context home tree      another one, for one command (or NEST_CONTEXT)

            They are kept in $XDG_CONFIG_HOME/nest/config (default ~/.config/nest/config), which only the user may read. \
            --server, or NEST_SERVER, names a server without any context. TLS is version 1.3; the server's certificate is always \
            verified, by the system's authorities or those of --tls-ca. A token goes out over TLS or to this machine only, unless \
            --insecure is given. --tls-cert and --tls-key are for servers that want to see a certificate.
            """,
        subcommands: [SetContext.self, UseContext.self, ListContexts.self, ShowContext.self, DeleteContext.self],
        defaultSubcommand: ListContexts.self
    )
}

struct SetContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Make a context, or replace one of that name.",
        discussion: """
            Examples:
              nestc context set work --server nest.example.org:7000 --tls \\
                  --token-file ~/work.token

            The first one is the one in use.
            """
    )

    @Argument(help: "What it is called.")
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        guard self.name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil else {
            throw CommandFailure(.usage, "a context's name is made of letters, digits, '.', '_' and '-'")
        }
        let connect = self.global.connect
        guard connect.context == nil, let server = connect.server else {
            throw CommandFailure(.usage, "say where it is: --server HOST:PORT")
        }
        guard !connect.insecure else {
            throw CommandFailure(.usage, "--insecure is not kept: say it with the command that needs it")
        }
        _ = try ConnectOptions.address(server)
        var context = SavedContext(server: server)
        context.tokenFile = connect.tokenFile.map(absolutePath)
        context.tlsCA = connect.tlsCa.map(absolutePath)
        context.tlsServerName = connect.tlsServerName
        context.tlsCert = connect.tlsCert.map(absolutePath)
        context.tlsKey = connect.tlsKey.map(absolutePath)
        context.tls = connect.tls || context.isTLS ? true : nil
        _ = try context.clientTLS()
        if let file = context.tokenFile { _ = try TokenFile.read(file) }
        var file = try ContextFile.read()
        file.contexts[self.name] = context
        if file.contexts.count == 1 { file.current = self.name }
        try file.write()
    }
}

struct UseContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use",
        abstract: "Say which context commands work on from now on.",
        discussion: """
            Examples:
              nestc context use work
            """
    )

    @Argument(help: "Its name.")
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var file = try ContextFile.read()
        _ = try file.context(self.name)
        file.current = self.name
        try file.write()
    }
}

struct DeleteContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Forget a context. Its token file stays.",
        discussion: """
            Examples:
              nestc context delete work
            """
    )

    @Argument(help: "Its name.")
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var file = try ContextFile.read()
        _ = try file.context(self.name)
        file.contexts[self.name] = nil
        if file.current == self.name { file.current = nil }
        try file.write()
    }
}

/// A path as it means the same from everywhere.
private func absolutePath(_ path: String) -> String {
    guard !path.hasPrefix("/") else { return path }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard getcwd(&buffer, buffer.count) != nil else { return path }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/" + path
}
