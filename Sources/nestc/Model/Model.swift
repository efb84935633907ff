import ArgumentParser

/// `nestc model …`: models of servers and in files.
struct Model: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show, check, convert and apply models, and write them as types.",
        discussion: """
            Examples:
              nestc model show                           the server's model
              nestc model show Shop.xcdatamodeld
              nestc model check Shop.xcdatamodeld        list its faults
              nestc model convert Shop.xcdatamodeld -o shop.json
              nestc model generate swift shop.json -o Model.swift
              nestc model apply shop.json                the running server's model

            A model is Xcode's .xcdatamodeld or .xcdatamodel, the 'contents' file in one, or JSON. 'nestd --model' \
            serves it.
            """,
        subcommands: [ShowModel.self, CheckModel.self, ConvertModel.self, GenerateTypes.self, ApplyToServer.self]
    )
}
