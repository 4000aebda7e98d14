// SPDX-License-Identifier: MIT
#include "cli/live/screen.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <unistd.h>

#include "cli/base/terminal.h"
#include "cli/live/terminfo.h"

enum {
	COLOUR_LOSSY = 1,
	COLOUR_SESSION,
};

static size_t first_line; /* line that is scrolled to */
static size_t last_count;
static SCREEN *screen;
static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

int stat_screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !terminal_is_smart(STDOUT_FILENO))
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	/* Checked first, because newterm() leaks memory for a terminal that it does not know. */
	if (!terminal_has_screen(STDOUT_FILENO))
		return -ENOTTY;
	/* Used instead of initscr(), which would exit on a terminal that it does not know. */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	/* ^C is the normal way to leave; the handler of ncurses would end us with an error. */
	sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	if (has_colors() && terminal_has_color(STDOUT_FILENO)) {
		start_color();
		use_default_colors();
		init_pair(COLOUR_LOSSY, COLOR_RED, -1);
		init_pair(COLOUR_SESSION, COLOR_CYAN, -1);
	}
	return 0;
}

void stat_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

static int style_attributes(enum stat_style style)
{
	int pair = has_colors() ? 1 : 0;

	switch (style) {
	case STAT_HEAD:
		return A_BOLD;
	case STAT_TITLE:
		return A_REVERSE;
	case STAT_SESSION:
		return A_BOLD | (pair ? (int)COLOR_PAIR(COLOUR_SESSION) : 0);
	case STAT_LOSSY:
		return A_BOLD | (pair ? (int)COLOR_PAIR(COLOUR_LOSSY) : 0);
	default:
		return A_NORMAL;
	}
}

static void draw_line(int y, const struct stat_line *line, int width)
{
	attrset(style_attributes(line->style));
	if (line->style == STAT_TITLE)
		mvhline(y, 0, ' ', width);
	/* Cut off at the right edge, where the columns matter least. */
	mvaddnstr(y, 0, line->text, width);
	attrset(A_NORMAL);
}

static void draw_foot(int y, int width, enum stat_order order, bool is_paused, bool has_more)
{
	static const char *const names[] = {"rank", "slowest first", "load", "drops"};
	char text[256];

	snprintf(text, sizeof(text), "q quit  s sort (%s)  p %s  space refresh%s", names[order],
		is_paused ? "go on (PAUSED)" : "pause", has_more ? "  up/down scroll" : "");
	attrset(A_DIM);
	mvaddnstr(y, 0, text, width);
	attrset(A_NORMAL);
}

size_t stat_screen_width(void)
{
	return (size_t)getmaxx(stdscr);
}

void stat_screen_draw(const struct stat_view *view, enum stat_order order, bool is_paused)
{
	int height, width;
	size_t shown;

	getmaxyx(stdscr, height, width);
	shown = height > 1 ? (size_t)height - 1 : 1;
	last_count = view->count > shown ? view->count - shown : 0;
	if (first_line > last_count)
		first_line = last_count;
	erase();
	for (size_t i = 0; i < shown && first_line + i < view->count; i++)
		draw_line((int)i, view->lines + first_line + i, width);
	draw_foot(height - 1, width, order, is_paused, last_count > 0);
	refresh();
}

static enum stat_key scroll_to(size_t line)
{
	first_line = line > last_count ? last_count : line;
	return STAT_KEY_REDRAW;
}

enum stat_key stat_screen_wait(uint64_t timeout_ns)
{
	int key;

	timeout((int)(timeout_ns / 1000000 > INT32_MAX ? INT32_MAX : timeout_ns / 1000000));
	key = getch();
	if (is_interrupted)
		return STAT_KEY_QUIT;
	switch (key) {
	case ERR:
		return STAT_KEY_NONE;
	case 'q':
	case 'Q':
	case 27:
		return STAT_KEY_QUIT;
	case ' ':
	case '\n':
		return STAT_KEY_REFRESH;
	case 's':
		return STAT_KEY_ORDER;
	case 'p':
		return STAT_KEY_PAUSE;
	case KEY_DOWN:
	case 'j':
		return scroll_to(first_line + 1);
	case KEY_UP:
	case 'k':
		return scroll_to(first_line ? first_line - 1 : 0);
	case KEY_NPAGE:
		return scroll_to(first_line + 10);
	case KEY_PPAGE:
		return scroll_to(first_line > 10 ? first_line - 10 : 0);
	default:
		return STAT_KEY_REDRAW;
	}
}
