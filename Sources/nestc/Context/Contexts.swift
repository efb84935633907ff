import ArgumentParser
import NestDocuments

/// `nestc context …`: saved servers.
struct Contexts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context",
        abstract: "Save servers by name, with their settings.",
        discussion: """
            Examples:
              nestc context set home --server 127.0.0.1:7000
              nestc context set work --server nest.example.org:7000 --tls \\
                  --token-file ~/.config/nest/work.token
              nestc context set lab --server 10.0.0.5:7000 --tls-ca lab-ca.pem \\
                  --tls-server-name nest.lab --tls-cert me.pem --tls-key me.key
              nestc context set team --server a.example,b.example,c.example   a cluster
              nestc context use work         for commands without --server
              nestc context list
              nestc --context home tree      for one command (or NEST_CONTEXT)

            nestc saves contexts in $XDG_CONFIG_HOME/nest/config (default ~/.config/nest/config), which only you can \
            read. A context has the address of a server, the file of a token, a user (for a server without tokens: \
            --user), and TLS settings. --server or NEST_SERVER connects without a context.

            An address is HOST:PORT, HOST (port 7000), :PORT (this machine) or [IPv6]:PORT. nest:// may precede it, or \
            nests://, which means --tls. For a cluster, write the addresses of its nodes with commas: a,b:7001,c. \
            nestc begins at one of them at random, and goes to another one if it fails. nest://a,b,c/NAME also names \
            the store; a cluster has one, which 'nestc cluster status' shows.

            TLS is version 1.3. nestc always verifies the server's certificate, by the system's authorities or those \
            of --tls-ca. It sends a token only over TLS or to this machine, unless --insecure is given. --tls-cert and \
            --tls-key are for servers that require a client certificate.
            """,
        subcommands: [SetContext.self, UseContext.self, ListContexts.self, ShowContext.self, DeleteContext.self],
        defaultSubcommand: ListContexts.self
    )
}

struct SetContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Create or replace a context.",
        discussion: """
            Examples:
              nestc context set work --server nest.example.org:7000 --tls \\
                  --token-file ~/work.token

            The first context becomes the current one, and nestc says so. 'nestc context use' selects another.
            """
    )

    @Argument(help: "The name of the context.")
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        guard SavedContext.isName(self.name) else {
            throw CommandFailure(
                .usage,
                "a context's name has 1 to 64 letters, digits, '.', '_' and '-', and starts with a letter or digit"
            )
        }
        let connect = self.global.connect
        guard connect.context == nil, let server = connect.server else {
            throw CommandFailure(.usage, "specify the server with --server HOST:PORT")
        }
        guard !connect.insecure else {
            throw CommandFailure(.usage, "--insecure is not saved: use it with the command that needs it")
        }
        var context = SavedContext(at: try ConnectOptions.addresses(server, from: "--server"))
        context.tokenFile = connect.tokenFile.map(absolutePath)
        try ConnectOptions.checkUser(connect.user)
        context.user = connect.user
        context.tlsCA = connect.tlsCa.map(absolutePath)
        context.tlsServerName = connect.tlsServerName
        context.tlsCert = connect.tlsCert.map(absolutePath)
        context.tlsKey = connect.tlsKey.map(absolutePath)
        if connect.tls || context.isTLS { context.tls = true }
        _ = try context.clientTLS()
        if let file = context.tokenFile { _ = try TokenFile.read(file) }
        var file = try ContextFile.read()
        file.contexts[self.name] = context
        let isFirst = file.contexts.count == 1 && file.current != self.name
        if isFirst { file.current = self.name }
        try file.write()
        if isFirst {
            self.global.note(
                "this first context is now the current one: commands without --server connect to \(context.server)"
            )
        }
        try self.global.printJSON(context.json(self.name, isCurrent: file.current == self.name))
    }
}

struct UseContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use",
        abstract: "Make a context the current one.",
        discussion: """
            Examples:
              nestc context use work
            """
    )

    @Argument(help: "The name of the context.", completion: ModelCompletion.contexts)
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var file = try ContextFile.read()
        let context = try file.context(self.name)
        file.current = self.name
        try file.write()
        try self.global.printJSON(context.json(self.name, isCurrent: true))
    }
}

struct DeleteContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a context, but not its token file.",
        discussion: """
            Examples:
              nestc context delete work
            """
    )

    @Argument(help: "The name of the context.", completion: ModelCompletion.contexts)
    var name: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var file = try ContextFile.read()
        _ = try file.context(self.name)
        file.contexts[self.name] = nil
        if file.current == self.name { file.current = nil }
        try file.write()
        try self.global.printJSON(.object { $0.field("deleted", self.name) })
    }
}

/// Returns a path as an absolute path.
func absolutePath(_ path: String) -> String {
    guard !path.hasPrefix("/") else { return path }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard getcwd(&buffer, buffer.count) != nil else { return path }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/" + path
}
