/// The page that the web port serves without a directory of files.
enum WebPage {
    static let path = "/"

    static func answer(isEncrypted: Bool) -> WebAnswer {
        WebAnswer.text(self.text(isEncrypted: isEncrypted), type: "text/html; charset=utf-8")
    }

    private static func text(isEncrypted: Bool) -> String {
        let scheme = isEncrypted ? "wss" : "ws"
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>nest</title>
            </head>
            <body>
            <h1>nest</h1>
            <p>This is nestd \(ServerVersion.nest): a live object graph as a network service.</p>
            <p>Programs connect by WebSocket to <code>\(scheme)://THIS-HOST/nest</code>, with the subprotocol
            <code>\(WebSocketOffer.subprotocol)</code>. If this server requires a token, the program sends it in its
            first message; it is never part of the address.</p>
            <p>The JavaScript client is in the directory <code>Clients/js</code> of the repository. To serve pages of
            your own here, start nestd with <code>--web-root DIRECTORY</code>. <code>docs/web.md</code> has the
            rest.</p>
            </body>
            </html>

            """
    }
}
