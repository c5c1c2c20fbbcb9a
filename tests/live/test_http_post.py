"""One request: URLs that are taken and refused, time that ends, and TLS that is checked."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager

import pytest

from ocboost.errors import InputError
from ocboost.live.http_post import DeliveryError, parse_url, post
from tests.support.receiver import receiving


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "shown", "exposed"),
    [
        ("https://a.example", "a.example", 443, "/", "https://a.example", False),
        ("https://a.example:8443/in?x=1#y", "a.example", 8443, "/in?x=1", "https://a.example:8443", False),
        ("http://127.0.0.1:9/x", "127.0.0.1", 9, "/x", "http://127.0.0.1:9", False),
        ("http://[::1]/", "::1", 80, "/", "http://[::1]", False),
        ("http://LOCALHOST/", "localhost", 80, "/", "http://localhost", False),
        ("http://u:p@10.0.0.1/s", "10.0.0.1", 80, "/s", "http://10.0.0.1", True),
        ("http://localhost.example/", "localhost.example", 80, "/", "http://localhost.example", True),
    ],
)
def test_urls(url, host, port, target, shown, exposed):
    found = parse_url(url, "--webhook")
    assert (found.host, found.port, found.target, found.shown) == (host, port, target, shown)
    assert found.is_exposed is exposed


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://word@a.example/",
        "file:///etc/passwd",
        "a.example/in",
        "https://",
        "https:///in?word",
        "https://a.example:0/word",
        "https://a.example:99999/word",
        "https://a.example:x/word",
        "https://[::1/word",
        "https://a..example/word",
        "https://" + "a" * 64 + ".example/word",
        "https://a.example/word word",
        "https://a.example/word\r\nX: y",
        "https://ä.example/word",
        "https://a%0d.example/word",
        "https://a.example/" + "word" * 1000,
    ],
)
def test_urls_that_are_refused(url):
    with pytest.raises(InputError, match="--webhook must be") as caught:
        parse_url(url, "--webhook")
    assert "word" not in str(caught.value)


def test_user_and_password_are_sent_and_not_shown():
    with receiving() as receiver:
        url = parse_url(f"http://me:a%3Aword@127.0.0.1:{receiver.port}/in?key=hidden", "--webhook")
        assert post(url, b"{}", {"X-Test": "1"}, 10.0) == (200, None)
        came = receiver.next()
    assert came.headers["Authorization"] == "Basic bWU6YTp3b3Jk"  # me:a:word
    assert came.headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert came.headers["X-Test"] == "1"
    assert (came.path, came.body) == ("/in?key=hidden", b"{}")
    assert not any(word in repr(url) for word in ("word", "hidden", "bWU6"))


def test_no_proxy_is_used(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with receiving() as receiver:
        assert post(parse_url(receiver.url, "--webhook"), b"{}", {}, 10.0)[0] == 200


@contextmanager
def answering(*pieces):
    """The URL of a server that takes one connection and sends these pieces, waiting where one is None."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                for piece in pieces:
                    if piece is None:
                        done.wait(30)
                    else:
                        try:
                            connection.sendall(piece)
                        except OSError:
                            return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield parse_url(f"http://127.0.0.1:{server.getsockname()[1]}/", "--webhook")
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize("pieces", [(None,), (b"HTTP/1.1 200 OK\r\n", None), (b"HTTP/1.1 2", None)])
def test_a_receiver_that_does_not_answer(pieces):
    with answering(*pieces) as url, pytest.raises(DeliveryError, match=r"no answer within 0\.2 seconds"):
        post(url, b"{}", {}, 0.2)


def test_a_receiver_that_answers_byte_by_byte():
    """Each byte comes in time, all of them do not: the time is that of the whole request."""
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                    while not gone.wait(0.02):
                        connection.sendall(b"x")
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        url = parse_url(f"http://127.0.0.1:{server.getsockname()[1]}/", "--webhook")
        with pytest.raises(DeliveryError, match="no answer"):
            post(url, b"{}", {}, 0.3)
        gone.set()
        thread.join()


def test_a_body_that_does_not_end_is_no_failure():
    head = b"HTTP/1.1 204 No\r\nRetry-After: 7\r\n\r\n"
    with answering(head) as url:
        assert post(url, b"{}", {}, 10.0) == (204, "7")
    with answering(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (1 << 22), None) as url:
        assert post(url, b"{}", {}, 10.0)[0] == 200
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", None) as url:
        assert post(url, b"{}", {}, 0.3)[0] == 200


@pytest.mark.parametrize(
    "answer",
    [
        b"hello\r\n\r\n",
        b"",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_answer(answer):
    with answering(answer) as url, pytest.raises(DeliveryError):
        post(url, b"{}", {}, 10.0)


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DeliveryError, match="refused"):
        post(parse_url(f"http://127.0.0.1:{port}/secret", "--webhook"), b"{}", {}, 10.0)
    with pytest.raises(DeliveryError) as caught:
        post(parse_url("http://nothing.invalid/secret", "--webhook"), b"{}", {}, 10.0)
    assert "secret" not in str(caught.value)


def test_an_address_that_is_silent_leaves_time_for_the_next(monkeypatch):
    """As where IPv6 is there and leads nowhere."""
    with receiving() as receiver, socket.socket() as silent, socket.socket() as other:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        other.connect(silent.getsockname())  # nobody takes it, so that the next one waits
        found = socket.getaddrinfo("127.0.0.1", 0, type=socket.SOCK_STREAM)[0][:4]
        places = [silent.getsockname(), ("127.0.0.1", parse_url(receiver.url, "--webhook").port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(*found, place) for place in places])
        assert post(parse_url(receiver.url, "--webhook"), b"{}", {}, 1.0)[0] == 200


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_tls_is_checked(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test " \
        f"-addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"  # fmt: skip
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=certificate)
    with receiving() as receiver:
        receiver.server.socket = ours.wrap_socket(receiver.server.socket, server_side=True)
        url = parse_url(f"https://127.0.0.1:{receiver.port}/in", "--webhook")
        with pytest.raises(DeliveryError, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
            post(url, b"{}", {}, 10.0)
        assert post(url, b"{}", {}, 10.0, trusting)[0] == 200
        other = parse_url(f"https://localhost:{receiver.port}/in", "--webhook")
        with pytest.raises(DeliveryError, match="TLS failed"):  # the name is checked too
            post(other, b"{}", {}, 10.0, trusting)
        assert receiver.came.qsize() == 1
