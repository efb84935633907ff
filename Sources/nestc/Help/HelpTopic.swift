/// The pages of `nestc help` that are not about one command. Each paragraph is one line; indented lines stay as they
/// are and fit in 80 columns.
enum HelpTopic: String, CaseIterable {
    case addresses
    case environment
    case exitCodes = "exit-codes"
    case files
    case output
    case query

    var abstract: String {
        switch self {
        case .addresses: "How commands name a server: addresses and contexts."
        case .environment: "The environment variables that nestc reads."
        case .exitCodes: "The exit codes of nestc."
        case .files: "The files that nestc reads and writes."
        case .output: "What nestc prints on a terminal, in a pipe and as JSON."
        case .query: "The query language of fetch, subscribe and explain."
        }
    }

    var text: String {
        switch self {
        case .addresses: Self.addressesText
        case .environment: Self.environmentText
        case .exitCodes: ExitStatus.table
        case .files: Self.filesText
        case .output: Self.outputText
        case .query: Self.queryText
        }
    }

    private static let addressesText = """
        A server is HOST:PORT, HOST, :PORT, or [V6]:PORT. The default is 127.0.0.1:7000.

          nestc --server db.example:7000 tree
          nestc --server :7001 tree             port 7001 on this machine
          nestc --server [::1]:7000 tree

        A context is a saved server, with its token and its TLS settings:

          nestc context set work --server db.example:7000 --tls --token-file ~/w.token
          nestc context use work                for all commands without --server
          nestc --context work tree             for one command

        nestc takes the first of these: --server, --context, NEST_CONTEXT, NEST_SERVER, the current context, the default. A server that is specified by its address gets no token of a context.

        'nestc help context' describes TLS, 'nestc help token' tokens, 'nestc help cp' how to name an object of another server.
        """

    private static let environmentText = """
        Options on the command line take precedence.

          NEST_SERVER       the server, HOST:PORT; several with commas
          NEST_CONTEXT      the context: see 'nestc help context'
          NEST_TOKEN_FILE   the file with the token: see 'nestc help token'
          NEST_USER         who you are, for a server without tokens
          NEST_SESSION      the session, 32 hex digits: see 'nestc help session'
          NEST_GROUP        the group: see 'nestc help group'
          TZ                the time zone of times on a terminal
          NO_COLOR          if set, output has no colours
          XDG_CONFIG_HOME   the directory of the contexts (default: ~/.config)
          XDG_STATE_HOME    the directory of the sessions (default: ~/.local/state)
        """

    private static let filesText = """
        Only you can read these files. nestc creates them when they are needed.

          ~/.config/nest/config            the contexts: see 'nestc help context'
          ~/.local/state/nest/sessions/    one session for each server, as HOST_PORT,
                                           and replaced ones, as HOST_PORT.1

        XDG_CONFIG_HOME and XDG_STATE_HOME replace ~/.config and ~/.local/state.

        A session owns an undo stack, and its file is a secret. 'nestc session list' lists the files. A token is in a file of your choice, which a context or --token-file names.

        'nestc help import' describes the formats of outlines, 'nestc help model' those of models.
        """

    private static let outputText = """
        Data goes to standard output, messages to standard error. The form of the data depends on where it goes:

          on a terminal          tables, times in your time zone (TZ) with its offset,
                                 counts like 2,000
          in a pipe or a file    one object a line, values between tabs; times are
                                 RFC 3339 in UTC, and numbers plain
          with --json            one JSON object a line, in both cases

        Text that comes from the server is on one line, in which these characters are escapes, so that every line reads back as one text:

          \\\\       a backslash
          \\n       a line feed
          \\r       a carriage return
          \\t       a tab
          \\u{1b}   another control character, a line separator, or a mark of the
                   direction of text, with its number in hexadecimal digits

        With --json, errors are objects on standard error, such as:

          {"error":{"code":"NOT_FOUND","exit":1,"message":"…","hint":null,"object":99,"faults":[]}}

        "code" is null for an error that does not come from the server or the connection, such as a wrong option. Notes are {"note":"…"}. --quiet leaves them out.

        Times are strings in RFC 3339, data is base64. Numbers are plain; a decimal is a string of digits. In the output of ls, tree and export, "extra" of an item is an object; in all other output, and in input of values, it is what it is in the model: a string.
        """

    private static let queryText = """
        What to fetch:

          --entity User                      all objects of an entity
          --of 12 --relationship phones      those that an object is related to
          --where PREDICATE                  only those for which this is true
          --sort name:c,-createdAt          the order; '-' for descending
          --section 'firstCharacter(name)'   rows in sections
          --properties name,user.name        the values to return
          --totals 'count, sum(minutes)'    over all rows and over each section
          --properties phones.@sum.minutes   also @count, @min, @max, @avg; for --sort too

        The root object of an entity, such as item 1, is left out of --entity, unless --with-root is given.

        A predicate compares properties with values:

          done == NO AND title CONTAINS[c] "milk"
          name BEGINSWITH[cd] "a" OR name IN {"Bo", "Cy"}
          age BETWEEN {18, 65} AND NOT homepage == nil
          createdAt >= 2026-11-21 AND createdAt < tomorrow
          number MATCHES "\\+41 \\d+"               a regular expression
          company.name LIKE "A*"                    along a relationship
          phones.@count > 1                         the number of related objects
          ANY phones.number BEGINSWITH "+41"        also ALL and NONE
          SELF == 4                                 the object with this id
          SELF IN SUBTREE(2)                        everything below object 2

        Operators: == != < <= > >= BETWEEN IN BEGINSWITH ENDSWITH CONTAINS LIKE MATCHES, then AND, OR, NOT and parentheses. [c] ignores case, [d] diacritics. Text is in quotation marks, so quote the predicate for the shell.

        docs/query-language.md is the whole specification. 'nestc explain' shows how the server finds the rows.
        """
}
